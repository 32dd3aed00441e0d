"""SCRAM-SHA-256 verifiers: what PostgreSQL stores instead of a password."""

import base64
import hashlib
import hmac
import secrets
from typing import Final

__all__ = ["verifier"]

_ITERATIONS: Final = 4096  # PostgreSQL's own default of scram_iterations
_SALT_BYTES: Final = 16


def verifier(password: str) -> str:
    """Return the verifier of an ASCII password, in the form that RFC 5803 gives.

    Sent in place of the password, it keeps the password out of every log and statistics view.
    """
    salt = secrets.token_bytes(_SALT_BYTES)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode("ascii"), salt, _ITERATIONS)
    client = hmac.digest(salted, b"Client Key", "sha256")
    stored = base64.b64encode(hashlib.sha256(client).digest()).decode()
    server = base64.b64encode(hmac.digest(salted, b"Server Key", "sha256")).decode()
    return f"SCRAM-SHA-256${_ITERATIONS}:{base64.b64encode(salt).decode()}${stored}:{server}"
