"""Why a database could not be reached, and what to do about it.

The drivers raise what the operating system and TLS say, without a SQLSTATE (asyncpg 0.32 as it is,
pg8000 1.31 inside of an InterfaceError); only a refusal of TLS has to be told by its text.
"""

import re
import socket
import ssl
from collections.abc import Iterator
from typing import Final

from sqlalchemy.exc import SQLAlchemyError

from memory import postgres
from memory.database.address import parse
from memory.errors import Unavailable
from memory.settings import Settings

__all__ = ["unreachable"]

_NO_TLS: Final = re.compile(r"rejected SSL upgrade|refuses SSL")
_POSTGRESQL: Final = 5432
_START: Final = "start it with `memory pg start`"


def unreachable(
    error: BaseException, settings: Settings | None, *, is_owner: bool = False
) -> Unavailable:
    """Return the error for a connection that failed or broke; ``is_owner`` says whose it was.

    Codes: unknown_host, tls_failed, else unavailable.
    """
    if settings is None:
        return Unavailable()
    variable = "MEMORY_OWNER_URL" if is_owner and settings.owner_url else "DATABASE_URL"
    url = settings.owner_url if variable == "MEMORY_OWNER_URL" else settings.database_url
    if not url:
        return Unavailable(f"The database cannot be reached; {_START}.")
    place = _place(url, variable)
    causes = list(_causes(error))
    tls = next((_tls(each, place, variable) for each in causes if _is_of_tls(each)), "")
    if tls:
        return Unavailable(tls, code="tls_failed")
    if any(isinstance(each, socket.gaierror) for each in causes):
        said = f"The host of {place}, which {variable} names, is not known here: correct {variable}"
        return Unavailable(f"{said}, or look at the network.", code="unknown_host")
    way_out = f"start that server, or correct {variable}"
    if postgres.is_embedded(settings, url):
        way_out = f"that is the embedded server, so {_START}"
    elif any(isinstance(each, TimeoutError) for each in causes):
        way_out = f"it did not answer in time. Look at the network, or correct {variable}"
    return Unavailable(
        f"The database cannot be reached at {place}, which {variable} names: {way_out}."
    )


def _place(url: str, variable: str) -> str:
    """Return the host and port, or the folder of the socket, of an address."""
    address = parse(url, variable=variable)
    if address.socket_folder:
        return address.socket_folder
    return f"{address.url.host or 'localhost'}:{address.url.port or _POSTGRESQL}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and what lies under it."""
    found: BaseException | None = error
    while found is not None:
        yield found
        found = getattr(found, "orig", None) or found.__cause__


def _is_of_tls(error: BaseException) -> bool:
    """Tell whether TLS is what failed; SQLAlchemy's own texts hold statements, so they are not read."""
    if isinstance(error, SQLAlchemyError):
        return False
    return isinstance(error, ssl.SSLError) or bool(_NO_TLS.search(str(error)))


def _tls(error: BaseException, place: str, variable: str) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"The certificate of {place} is not trusted ({error.verify_message}): name its authority"
            f" by sslrootcert in {variable}, or use the host's name that stands in it."
        )
    if isinstance(error, ssl.SSLError):
        return f"TLS with {place} failed ({error.reason or 'no reason given'}); look at its TLS."
    return (
        f"{place} takes no TLS, which sslmode in {variable} asks for: switch it on there, or leave"
        " sslmode out where the way to it is trusted."
    )
