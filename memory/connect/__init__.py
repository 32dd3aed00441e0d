"""How the clients are connected: edits of their files that keep everything else in them.

One module for each client's format; none of them starts a program or opens the database.
"""

from memory.connect.clients import CLIENTS, Client, found
from memory.connect.files import Unwritable, clear
from memory.connect.places import Configured, Places
from memory.connect.plan import Change, carry_out, connecting, disconnecting
from memory.connect.receipts import Receipts
from memory.connect.server import NAME, Server, server_of

__all__ = [
    "CLIENTS",
    "NAME",
    "Change",
    "Client",
    "Configured",
    "Places",
    "Receipts",
    "Server",
    "Unwritable",
    "carry_out",
    "clear",
    "connecting",
    "disconnecting",
    "found",
    "server_of",
]
