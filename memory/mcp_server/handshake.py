"""The handshake, answered from a file before the SDK is loaded.

Standard library alone. Importing the SDK and the database takes longer than Codex waits for a
server, which it then leaves out in silence. What stands in ``handshake.json`` is what the SDK
answers: `memory.mcp_server.recording` writes it, a test compares both. Anything that is not
plainly covered is left to the SDK, which sees every message anyway.
"""

import json
import os
from collections.abc import Mapping
from typing import Any, Final

from memory.mcp_server.messages import INVALID_REQUEST, Message, failure, request_id

__all__ = ["PATH", "Handshake"]

PATH: Final = os.path.join(os.path.dirname(__file__), "handshake.json")  # noqa: PTH118, PTH120 - pathlib costs a third of the start

_VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
_CLIENT_KEY: Final = "io.modelcontextprotocol/clientInfo"


class Handshake:
    """One connection's handshake; follows which era the client's first request opened."""

    def __init__(self, recorded: Mapping[str, Any]) -> None:
        """Answer from a recording."""
        self._handshake_versions: list[str] = recorded["handshake_versions"]
        self._modern_versions: list[str] = recorded["modern_versions"]
        self._results: list[Any] = recorded["results"]
        self._answers: Mapping[str, Mapping[str, int]] = recorded["answers"]
        self._refusal: Mapping[str, Any] = recorded["initialize_after_discover"]
        self._modern: bool | None = None
        self._version = ""
        self._client = ""

    @classmethod
    def load(cls) -> "Handshake":
        """Read the recording beside this module."""
        with open(PATH, "rb") as file:  # noqa: PTH123 - without pathlib, see PATH
            return cls(json.load(file))

    def refusal(self, message: Message) -> Message | None:
        """Return the refusal of an `initialize` by a second client, None for any other message.

        What is recorded carries the name of who opened the connection: it must not change on the
        way. The same client may ask again, as after a time-out.
        """
        found, params = request_id(message), message.get("params") or {}
        if message.get("method") != "initialize" or found is None or self._modern:
            return None
        if not _is_opening(params):
            return None
        name = params["clientInfo"]["name"]
        self._client = self._client or name
        if name == self._client:
            return None
        said = "Another client has opened this connection; start a server of your own."
        return failure(INVALID_REQUEST, said, found)

    def answer(self, message: Message) -> Message | None:
        """Return the answer to a request, or None when it is the SDK's to give."""
        found = request_id(message)
        method = message.get("method")
        if found is None or not isinstance(method, str):
            return None
        params = message.get("params") or {}
        meta = params.get("_meta")
        meta = meta if isinstance(meta, dict) else {}
        if self._modern is None:
            self._modern = method != "initialize" and _VERSION_KEY in meta
        if self._modern:
            body = self._modern_body(method, params, meta)
        else:
            body = self._legacy_body(method, params, meta)
        return {"jsonrpc": "2.0", "id": found, **body} if body else None

    def _modern_body(
        self, method: str, params: Mapping[str, Any], meta: Mapping[str, Any]
    ) -> Message | None:
        version = meta.get(_VERSION_KEY)
        if method == "initialize":
            return self._refused(params)
        sound = (
            version in self._modern_versions
            and isinstance(meta.get(_CAPABILITIES_KEY), dict)
            and (_CLIENT_KEY not in meta or _is_client(meta[_CLIENT_KEY]))
        )
        return self._result(str(version), method) if sound and params.keys() <= {"_meta"} else None

    def _legacy_body(
        self, method: str, params: Mapping[str, Any], meta: Mapping[str, Any]
    ) -> Message | None:
        if method == "initialize":
            if not _is_opening(params):
                return None
            asked = params["protocolVersion"]
            known = self._handshake_versions
            self._version = asked if asked in known else known[-1]
            return self._result(self._version, method)
        if not self._version or _VERSION_KEY in meta or not params.keys() <= {"_meta"}:
            return None
        return self._result(self._version, method)

    def _result(self, version: str, method: str) -> Message | None:
        place = self._answers[version].get(method)
        return None if place is None else {"result": self._results[place]}

    def _refused(self, params: Mapping[str, Any]) -> Message | None:
        """Refuse `initialize` on a connection that opened in the later era."""
        asked = params.get("protocolVersion")
        if not isinstance(asked, str):
            return None
        return {"error": {**self._refusal, "data": {**self._refusal["data"], "requested": asked}}}


def _is_opening(params: Mapping[str, Any]) -> bool:
    """Tell whether these are sound params of an `initialize`."""
    return (
        isinstance(params.get("protocolVersion"), str)
        and isinstance(params.get("capabilities"), dict)
        and _is_client(params.get("clientInfo"))
    )


def _is_client(value: object) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("name"), str)
        and isinstance(value.get("version"), str)
    )
