"""Put the migrations into the package: in the source they lie where Alembic's users look for them."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

SOURCE = Path("alembic")
PACKAGED = Path("memory", "migrations")


class BuildWithMigrations(build_py):
    """Build the packages, and the migrations as a folder of `memory`."""

    def run(self) -> None:
        """Copy the migrations beside what was built; an editable install uses the source's own."""
        super().run()
        if self.editable_mode:
            return
        for file in sorted([*SOURCE.glob("*.py"), *SOURCE.glob("versions/*.py")]):
            target = Path(self.build_lib, PACKAGED, file.relative_to(SOURCE))
            self.mkpath(str(target.parent))
            self.copy_file(str(file), str(target))


setup(cmdclass={"build_py": BuildWithMigrations})
