"""Further databases on the embedded server."""

import time
from typing import Final

from memory.postgres import launch, roles
from memory.postgres.home import Home
from memory.settings import Settings

__all__ = ["add"]

_TIMEOUT: Final = 60.0


def add(settings: Settings, name: str) -> None:
    """Create a database, starting the server if it is down; see ``ensure_database``."""
    roles.check_name(name)
    deadline = time.monotonic() + _TIMEOUT
    home = Home.of(settings)
    with launch.locked(home, deadline=deadline) as account:
        server = launch.start_locked(settings, home, account, options={}, deadline=deadline)
        roles.add_database(home, server, name)
