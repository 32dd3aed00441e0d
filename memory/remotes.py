"""Remotes: one name for a repository, however its address is written.

``https://user:token@Host/me/app.git``, ``git@host:me/app`` and ``ssh://git@host:22/me/app/`` are
all ``host/me/app``. Standard library alone, and pure: nothing is looked up.
"""

import posixpath
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final
from urllib.parse import unquote, urlsplit

__all__ = ["LONGEST_REMOTE", "name_of_remote", "normalised"]

LONGEST_REMOTE: Final = 1000  # characters; longer addresses name nothing
_REMEMBERED: Final = 256

# Hosts that answer SSH under another name, on the port of HTTPS (the hosts' own documentation).
_ALIASES: Final[Mapping[str, str]] = {
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
}
_FOLDING: Final = frozenset({"github.com", "gitlab.com", "bitbucket.org"})
"""Hosts that do not tell Me/App from me/app."""

_SSH: Final = frozenset({"ssh", "git+ssh", "ssh+git"})
_PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443, "git": 9418, "ftp": 21, "ftps": 990}
_SCP: Final = re.compile(r"(?:[^@/\[\]]*@)?(\[[^\]]+\]|[^:/\[\]]{2,}):(?!:)(.+)", re.DOTALL)
_BRACKETS: Final = re.compile(r"\[(?:[^@\]]*@)?([^\[\]]+?)\]")
_PORT_BEHIND: Final = re.compile(r"([^:]+):\d+")  # an IPv6 address has more than one colon
_UNSEEN: Final = re.compile(r"[\x00-\x1f\x7f]")


@lru_cache(maxsize=_REMEMBERED)
def normalised(address: str, *, base: str = "") -> str | None:
    """Return the one name of a remote, or None when the address names no repository.

    User, password, query and ``.git`` are left out; a host is in lower case; the port counts only
    for HTTP and when it is not the usual one, because SSH listens beside it. A path, and what
    ``file://`` names, is ``file:/path``; a relative one lies under ``base``, the repository.
    """
    address = address.strip()
    if not address or len(address) > LONGEST_REMOTE or _UNSEEN.search(address):
        return None
    if "://" in address:
        return _of_url(address)
    found = _SCP.fullmatch(address)
    if found is not None:
        return _joined(_bare_host(found[1]), found[2])
    if "::" in address:  # a helper's own language: ext::, codecommit::
        return None
    return _of_path(address, base)


def name_of_remote(remote: str) -> str:
    """Return the repository's own name, the last part of a normalised remote."""
    return remote.rstrip("/").rpartition("/")[2]


def _of_url(address: str) -> str | None:
    try:
        url = urlsplit(address)
        host, port = url.hostname or "", url.port
    except ValueError:  # a port that is no number, a bracket that never closes
        return None
    scheme = url.scheme.lower()
    if scheme == "file":
        host = "" if host == "localhost" else host
        return _of_path(f"//{host}{unquote(url.path)}" if host else unquote(url.path), "")
    if not host:
        return None
    if port is not None and scheme not in _SSH and port != _PORTS.get(scheme):
        host = f"{host}:{port}"
    return _joined(host, unquote(url.path))


def _bare_host(host: str) -> str:
    """Return what brackets hold: an IPv6 address, or host and port of the scp form."""
    found = _BRACKETS.fullmatch(host)
    if found is None:
        return host
    inner = found[1]
    behind = _PORT_BEHIND.fullmatch(inner)
    return behind[1] if behind else inner


def _joined(host: str, path: str) -> str | None:
    host = host.lower().rstrip(".")
    host = _ALIASES.get(host, host)
    path = _trimmed(path)
    if not host or not path:
        return None
    return f"{host}/{path.lower() if host in _FOLDING else path}"


def _of_path(path: str, base: str) -> str | None:
    path = path.replace("\\", "/")
    if not path.startswith("/") and not re.match(r"[A-Za-z]:/", path):
        if not base:
            return None
        path = posixpath.join(base, path)
    if path.rstrip("/").endswith("/.git"):
        path = path.rstrip("/").removesuffix("/.git")
    path = posixpath.normpath(path)
    trimmed = path.removesuffix(".git")
    return None if path in {"/", "."} else f"file:{trimmed}"


def _trimmed(path: str) -> str:
    parts = [part for part in path.split("/") if part not in {"", "."}]
    return "/".join(parts).removesuffix(".git").rstrip("/")
