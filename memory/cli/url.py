"""The ledger's address."""

from typing import Annotated

import typer

from memory.cli.output import Json, print_json, say
from memory.database import Address, application_address, owner_address
from memory.settings import Settings

__all__ = ["url"]


def url(
    *,
    owner: Annotated[
        bool, typer.Option("--owner", help="The role that may change the schema.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Print the ledger's address, password included."""
    settings = Settings.from_environment()
    text = _written(owner_address(settings) if owner else application_address(settings))
    if as_json:
        print_json({"url": text, "role": "owner" if owner else "application"})
    else:
        say(text)


def _written(address: Address) -> str:
    """Return an address in the form that every PostgreSQL program reads."""
    query = {
        "sslmode": address.ssl_mode,
        "sslrootcert": address.ssl_root,
        "host": address.socket_folder,
    }
    given = {name: value for name, value in query.items() if value}
    return address.url.update_query_dict(given).render_as_string(hide_password=False)
