"""Logs on standard error, because standard output belongs to JSON-RPC and to answers."""

import logging
import sys
import traceback

__all__ = ["configure", "get", "unexpected"]


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


def unexpected(logger: logging.Logger, what: str, error: BaseException) -> None:
    """Log an error that nobody foresaw: where it arose alone, since its text may hold a secret."""
    stack = "".join(traceback.format_tb(error.__traceback__))
    logger.error("%s failed with %s\n%s", what, type(error).__name__, stack)
