"""Logs on standard error, because standard output belongs to JSON-RPC and to answers."""

import logging
import sys

__all__ = ["configure", "get"]


def configure(level: str = "WARNING") -> None:
    """Send this process's logs to standard error, one line each."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S%z")
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)


def get(name: str) -> logging.Logger:
    """Return the logger of one module."""
    return logging.getLogger(name)
