"""How capturing goes: what hooks said, what waits, and how each client's last pass ended.

It is read from MEMORY_HOME alone, so it can be told while the database is away.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from importers import hooks, spool
from importers.rounds import FOLDER, Round, rounds
from memory.cli.checks import Check, Note
from memory.cli.output import ago, iso
from memory.settings import Settings

__all__ = ["Capture", "capture", "capture_checks", "capture_notes"]

LONG_SECONDS: Final = 3600.0
"""A signal that waits longer has no importer that could read it."""


@dataclass(slots=True, kw_only=True)
class Capture:
    """What was found; times are in seconds, 0 for never.

    ``hooks`` says when each client called last, ``unmatched`` when it named a conversation that is
    in none of the stores that the importer knows; ``waiting`` signals have not been read, the oldest
    since ``oldest_at``; ``damaged`` ones were set aside. ``rounds`` are the clients' last passes.
    """

    hooks: dict[str, float]
    unmatched: dict[str, float] = field(default_factory=dict)
    waiting: int = 0
    oldest_at: float = 0.0
    damaged: int = 0
    rounds: list[Round] = field(default_factory=list)

    def facts(self) -> dict[str, Any]:
        """Return it as JSON-safe values."""
        return {
            "hooks": {client: iso(_moment(at)) for client, at in self.hooks.items()},
            "unmatched": {client: iso(_moment(at)) for client, at in self.unmatched.items()},
            "signals_waiting": self.waiting,
            "oldest_signal_at": iso(_moment(self.oldest_at)),
            "signals_damaged": self.damaged,
            "passes": [
                {
                    **asdict(each),
                    "good_at": iso(_moment(each.good_at)),
                    "failed_at": iso(_moment(each.failed_at)),
                }
                for each in self.rounds
            ],
        }


def capture(home: Path) -> Capture:
    """Look at what hooks and importers left in a home. Raises OSError."""
    folder = spool.folder_of(str(home))
    found = Capture(
        hooks={client: spool.noted(folder, client, spool.LAST) for client in hooks.CLIENTS},
        unmatched={
            client: at
            for client in hooks.CLIENTS
            if (at := spool.noted(folder, client, spool.UNMATCHED))
        },
        rounds=list(rounds(home / FOLDER)),
    )
    for entry in spool.waiting(folder):
        if entry.name.endswith(spool.DRAFT):
            continue
        try:
            at = entry.stat(follow_symlinks=False).st_mtime
        except FileNotFoundError:
            continue  # it was read meanwhile
        found.waiting += 1
        found.oldest_at = min(found.oldest_at or at, at)
    aside = Path(folder, spool.DAMAGED)
    found.damaged = sum(1 for _ in aside.iterdir()) if aside.is_dir() else 0
    return found


def capture_notes(settings: Settings) -> Iterator[Note]:
    """Say how capturing goes, for ``memory status``."""
    try:
        found = capture(settings.home)
    except OSError as error:
        words = f"cannot be looked at: {error}"
        yield Note("capture", [words], {"error": words})
        return
    lines = [_hooks(found), _spool(found), *(_pass(each) for each in found.rounds)]
    yield Note("capture", lines, found.facts())


def capture_checks(settings: Settings) -> Iterator[Check]:
    """Yield what is wrong with capturing, for ``memory doctor``. Raises OSError."""
    found = capture(settings.home)
    yield Check("hooks", ok=True, detail=_hooks(found))
    aside = Path(spool.folder_of(str(settings.home)), spool.DAMAGED)
    is_old = bool(found.waiting) and _age(found.oldest_at) > LONG_SECONDS
    yield Check(
        "spool",
        ok=not found.damaged and not is_old,
        detail=_spool(found),
        remedy="memory import"
        if is_old
        else f"The next import reads everything anyway: look at {aside}, and remove it.",
    )
    failing = [each for each in found.rounds if each.is_failing]
    if found.rounds:
        said = "; ".join(_pass(each) for each in failing or found.rounds)
        yield Check("passes", ok=not failing, detail=said, remedy="memory import")


def _hooks(found: Capture) -> str:
    called = {client: at for client, at in found.hooks.items() if at}
    if not called:
        return "no client has called one yet"
    said = "last called by " + ", ".join(f"{client} {_ago(at)}" for client, at in called.items())
    for client, at in found.unmatched.items():
        said += f"; {client} named a conversation that is in none of its known stores, {_ago(at)}"
    return said


def _spool(found: Capture) -> str:
    said = "no signal waits"
    if found.waiting:
        verb = "signal waits," if found.waiting == 1 else "signals wait, the oldest"
        said = f"{found.waiting:,} {verb} from {_ago(found.oldest_at)}"
    if found.damaged:
        said += f"; {found.damaged:,} damaged, set aside"
    return said


def _pass(each: Round) -> str:
    name = f"{each.client} {each.root}".rstrip()
    good = f"last good pass {_ago(each.good_at)}" if each.good_at else "no good pass yet"
    if each.is_failing:
        return f"{name}: FAILED {_ago(each.failed_at)}: {each.reason} ({good})"
    if each.failed_at:
        return f"{name}: {good}; the last failure {_ago(each.failed_at)}: {each.reason}"
    return f"{name}: {good}"


def _moment(seconds: float) -> datetime | None:
    if not seconds:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None  # a file's time may be anything


def _ago(seconds: float) -> str:
    return ago(_moment(seconds), now=datetime.now(UTC))


def _age(seconds: float) -> float:
    return datetime.now(UTC).timestamp() - seconds
