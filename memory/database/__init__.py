"""The database: addresses, connections, and errors by SQLSTATE.

The schema's life stands in `memory.database.schema`, apart, because it brings Alembic along.
"""

from memory.database.address import Address, application_address, owner_address, parse
from memory.database.connection import Database, Transaction
from memory.database.sqlstate import translated

__all__ = [
    "Address",
    "Database",
    "Transaction",
    "application_address",
    "owner_address",
    "parse",
    "translated",
]
