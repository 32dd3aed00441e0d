"""The folder of the embedded server, and what lies where in it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from memory.errors import ServerFailure
from memory.settings import Settings

__all__ = ["APPLICATION", "DATABASE", "OWNER", "Home"]

OWNER: Final = "memory_owner"
APPLICATION: Final = "memory"
DATABASE: Final = "memory"


@dataclass(frozen=True, slots=True)
class Home:
    """One cluster's folder: ``<MEMORY_HOME>/pg``, mode 0700, of the account the server runs as.

    A folder of its own, so that MEMORY_HOME may name a folder that exists already and holds other
    things: nothing outside ``path`` is ever changed.
    """

    path: Path

    @classmethod
    def of(cls, settings: Settings) -> "Home":
        """Return the folder that these settings name; nothing is created."""
        return cls(settings.home / "pg")

    @property
    def data(self) -> Path:
        """The cluster: absent or complete, because initdb works beside it and is renamed."""
        return self.path / "data"

    @property
    def mark(self) -> Path:
        """The file that says roles and databases exist; it lives and goes with the cluster."""
        return self.data / "memory.ok"

    @property
    def pid_file(self) -> Path:
        """PostgreSQL's own lock file."""
        return self.data / "postmaster.pid"

    @property
    def lock(self) -> Path:
        """The file every start, stop and set-up locks; never deleted."""
        return self.path / "start.lock"

    @property
    def port_file(self) -> Path:
        """The last port and, on a second line, the port that was wanted then."""
        return self.path / "port"

    @property
    def stopped(self) -> Path:
        """The file that says somebody stopped the server on purpose; a start removes it."""
        return self.path / "stopped"

    @property
    def server_log(self) -> Path:
        """What the server says before its own log begins."""
        return self.path / "server.log"

    @property
    def staged(self) -> Path:
        """The copies of the binaries, one folder a version."""
        return self.path / "binaries"

    def password_file(self, role: str) -> Path:
        """Return the file, mode 0600, with a role's password."""
        return self.path / f"{role}.password"

    def is_complete(self) -> bool:
        """Say whether cluster, roles, databases and passwords are all there."""
        return self._have(self.mark, self.password_file(OWNER), self.password_file(APPLICATION))

    def was_used(self) -> bool:
        """Say whether a server was ever started here."""
        return self._have(self.lock)

    def was_stopped(self) -> bool:
        """Say whether somebody stopped the server on purpose since it was last started."""
        return self._have(self.stopped)

    def password(self, role: str) -> str:
        """Read a role's password.

        Raises ServerFailure when the server was never started here or the folder is not ours.
        """
        file = self.password_file(role)
        try:
            return file.read_text("ascii").strip()
        except PermissionError as error:
            raise self.refused(error) from error
        except FileNotFoundError as error:
            raise ServerFailure(
                f"There is no password file {file}: the embedded PostgreSQL was never started "
                "here. Start it with `memory pg start`.",
                code="never_started",
            ) from error

    def remembered_ports(self) -> tuple[int, int] | None:
        """Return the last port and the port that was wanted then, or None."""
        try:
            numbers = [int(line) for line in self.port_file.read_text("ascii").split()]
        except PermissionError as error:
            raise self.refused(error) from error
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return None
        return (numbers[0], numbers[1]) if len(numbers) == 2 else None

    def refused(self, error: OSError) -> ServerFailure:
        """Return the failure for a folder that this account may not use."""
        return ServerFailure(
            f"This account may not use {error.filename or self.path}: the folder belongs to "
            "another account. Set MEMORY_HOME to a folder of your own, or use the account that "
            "owns it.",
            code="not_writable",
            details={"path": str(error.filename or self.path)},
        )

    def _have(self, *files: Path) -> bool:
        """Say whether all these files exist; raises ServerFailure when that may not be known."""
        try:
            for file in files:
                file.stat()  # unlike exists(), which hides a refusal from Python 3.13 on
        except (FileNotFoundError, NotADirectoryError):
            return False
        except PermissionError as error:
            raise self.refused(error) from error
        return True
