"""Which machine this is: an id that stays, whatever becomes of the host's name.

The id reads ``<host name>-<8 digits>``, as the host was called when the id was made, and stands in
``MEMORY_HOME/machine.json`` with a hash of what tells the host from others. A folder that was
copied to another host is known by that hash, and its id is not taken over. Where a host has no
such mark (most containers), the file alone counts. Nothing here is random: before the file is
written every process comes to the same id.
"""

import contextlib
import ctypes
import hashlib
import json
import os
import platform
import re
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

__all__ = ["FILE", "identify", "settle", "usual_label"]

FILE: Final = "machine.json"

_MARKS: Final = ("/etc/machine-id", "/var/lib/dbus/machine-id")  # machine-id(5)
_CONTAINERS: Final = ("/.dockerenv", "/run/.containerenv")
_UNSET: Final = "uninitialized"  # what an image holds until its first boot, machine-id(5)
_UUID_BYTES: Final = 16
_DIGITS: Final = 8
_LONGEST_NAME: Final = 40
_FOLDER_MODE: Final = 0o755  # the embedded server's own account has to pass
_FILE_MODE: Final = 0o644


def identify(home: Path) -> str:
    """Return this machine's id: the one that was settled in a home, else the one to be settled.

    Nothing is written.
    """
    mark = _mark()
    return _settled(home, mark) or _made(home, mark)


def usual_label(machine: str, home: Path) -> str:
    """Return the label of a machine to which nobody gave another: the host's name as it is now.

    An id that somebody chose (``MEMORY_MACHINE``) is its own label.
    """
    return _host_name() if machine == identify(home) else machine


def settle(home: Path) -> None:
    """Write this machine's id into its home, so that it outlives the host's name.

    Where that may not be written nothing is lost but this: the id then follows the host's name.
    """
    mark = _mark()
    if _settled(home, mark):
        return
    text = json.dumps({"id": _made(home, mark), "host": mark}, indent=1) + "\n"
    draft = home / f"{FILE}.{secrets.token_hex(4)}.tmp"
    with contextlib.suppress(OSError):
        home.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        try:
            draft.write_text(text, "utf-8")
            draft.chmod(_FILE_MODE)
            draft.replace(home / FILE)
        finally:
            draft.unlink(missing_ok=True)


def _host_name() -> str:
    return platform.node().strip() or "unknown"


def _settled(home: Path, mark: str) -> str:
    """Return the id that was settled here and for this host; empty when there is none."""
    try:
        facts: Any = json.loads((home / FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return ""
    if not isinstance(facts, Mapping) or not isinstance(facts.get("id"), str):
        return ""
    was = facts.get("host")
    return "" if was and mark and was != mark else str(facts["id"])


def _made(home: Path, mark: str) -> str:
    """Return the id of a home on a host: of two accounts of one host each has its own stores."""
    name = re.sub(r"[^a-z0-9]+", "-", _host_name().lower()).strip("-")[:_LONGEST_NAME]
    digits = _digest(f"{mark}\n{_host_name()}\n{home}")[:_DIGITS]
    return f"{name or 'host'}-{digits}"


def _mark() -> str:
    """Return a hash of what tells this host from others, empty where nothing does.

    An image gives all its containers the same machine-id, so that inside one it says nothing.
    """
    if any(os.path.exists(path) for path in _CONTAINERS):  # noqa: PTH110 - a refusal is no error here
        return ""
    if sys.platform == "darwin":
        return _digest(_hardware_uuid())
    for path in _MARKS:
        with contextlib.suppress(OSError, ValueError):
            text = Path(path).read_text("ascii").strip()
            if text and text != _UNSET:
                return _digest(text)
    return ""


def _hardware_uuid() -> str:
    """Return macOS' hardware id, as gethostuuid(2) tells it; empty when it does not."""
    found = ctypes.create_string_buffer(_UUID_BYTES)
    wait = (ctypes.c_long * 2)(1, 0)  # a timespec: one second
    with contextlib.suppress(AttributeError, OSError):
        if ctypes.CDLL(None).gethostuuid(found, ctypes.byref(wait)) == 0:
            return found.raw.hex()
    return ""


def _digest(text: str) -> str:
    """Return a hash that does not tell the machine-id, which machine-id(5) asks to keep."""
    return hashlib.sha256(f"shared-memory\n{text}".encode()).hexdigest() if text else ""
