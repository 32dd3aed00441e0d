"""A model that does as the prompt says, for driving the real clients without an account.

It answers the Anthropic Messages, OpenAI Responses and OpenAI Chat Completions interfaces on
127.0.0.1, as streams. A prompt holds a plan, see `plan`: each turn calls the next tool of it, and the
last one says "done". What a client sent is kept for who asks.
"""

import base64
import json
import re
import threading
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self

__all__ = ["SEARCH", "Model", "plan"]

_PLAN: Final = re.compile(r"PLAN ([\w+/=]+) END")
_DONE: Final = "done"
SEARCH: Final = "ToolSearch"
"""Claude Code's tool that loads others, and waits for servers that are still starting."""

Json = dict[str, Any]


def plan(*calls: tuple[str, Json]) -> str:
    """Return the words that let the model call these tools, each by its name and its arguments.

    They hold no quotation mark: OpenCode 1.18.33 puts the prompt of a command line in quotes.
    """
    return f"PLAN {base64.b64encode(json.dumps(calls).encode()).decode()} END"


class Model:
    """The server; used as a context. ``requests`` are the bodies that came, oldest first."""

    def __init__(self) -> None:
        """Listen on a free port."""
        self.requests: list[Json] = []
        model = self

        class Handler(_Handler):
            kept = model.requests

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """The address, without a path."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        """Begin to answer."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    kept: list[Json]

    def log_message(self, *_: object) -> None:  # what a client asked is kept, not printed
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer a question for the list of models."""
        self._whole({"object": "list", "data": [{"id": "mock", "object": "model"}]})

    def do_POST(self) -> None:
        """Answer one turn."""
        body: Json = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)))
        self.kept.append(body)
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            self._whole({"input_tokens": 100})
        elif path.endswith("/messages"):
            self._anthropic(body)
        elif path.endswith("/responses"):
            self._stream(_responses(body))
        elif path.endswith("/chat/completions"):
            self._chat(body)
        else:
            self._whole({"error": {"message": "no such path"}}, status=404)

    def _anthropic(self, body: Json) -> None:
        call = _next(body, _messages(body))
        block: Json = {"type": "text", "text": _DONE}
        if call:
            block = {"type": "tool_use", "id": _id("toolu"), "name": call[0], "input": call[1]}
        stop = "tool_use" if call else "end_turn"
        message = {
            "id": _id("msg"),
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 5},
        }
        if not body.get("stream"):
            self._whole({**message, "content": [block], "stop_reason": stop})
            return
        self._stream(_anthropic_events(message, block, stop))

    def _chat(self, body: Json) -> None:
        call = _next(body, _messages(body))
        delta: Json = {"role": "assistant", "content": _DONE}
        if call:
            function = {"name": call[0], "arguments": json.dumps(call[1])}
            called = {"index": 0, "id": _id("call"), "type": "function", "function": function}
            delta = {"role": "assistant", "tool_calls": [called]}
        stop = "tool_calls" if call else "stop"
        base = {"id": _id("chatcmpl"), "created": 1, "model": body.get("model")}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        if not body.get("stream"):
            choice = {"index": 0, "message": delta, "finish_reason": stop}
            self._whole({**base, "object": "chat.completion", "choices": [choice], "usage": usage})
            return
        chunk = {**base, "object": "chat.completion.chunk"}
        first = {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        last = {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": stop}]}
        self._stream([first, last, {**chunk, "choices": [], "usage": usage}, "[DONE]"])

    def _whole(self, value: Json, *, status: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, events: Any) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for event in events:
            if isinstance(event, dict):
                name = f"event: {event['type']}\n" if "type" in event else ""
                self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())
            else:
                self.wfile.write(f"data: {event}\n\n".encode())


def _anthropic_events(message: Json, block: Json, stop: str) -> Iterator[Json]:
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    is_text = block["type"] == "text"
    empty = {"type": "text", "text": ""} if is_text else {**block, "input": {}}
    yield {"type": "content_block_start", "index": 0, "content_block": empty}
    delta: Json = {"type": "text_delta", "text": block.get("text")}
    if not is_text:
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    end = {"stop_reason": stop, "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": {"output_tokens": 5}}
    yield {"type": "message_stop"}


def _responses(body: Json) -> Iterator[Json]:
    """Yield a turn as Codex reads it; its newest models call every tool from JavaScript."""
    call = _next(body, body.get("input") or [])
    response: Json = {
        "id": _id("resp"),
        "object": "response",
        "status": "in_progress",
        "output": [],
    }
    yield {"type": "response.created", "response": response}
    item: Json = {
        "type": "message",
        "id": _id("msg"),
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": _DONE, "annotations": []}],
    }
    if call and call[2]:
        item = {**_called("function_call"), "name": call[0], "namespace": call[2]}
        item["arguments"] = json.dumps(call[1])
    elif call:
        script = f"text(JSON.stringify(await tools.{call[0]}({json.dumps(call[1])})))"
        item = {**_called("custom_tool_call"), "name": "exec", "input": script}
    yield {"type": "response.output_item.added", "output_index": 0, "item": item}
    if item["type"] == "message":
        place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
        yield {"type": "response.output_text.delta", **place, "delta": _DONE}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    done = {**response, "status": "completed", "output": [item], "usage": usage}
    yield {"type": "response.completed", "response": done}


def _called(kind: str) -> Json:
    return {"type": kind, "id": _id("item"), "call_id": _id("call"), "status": "completed"}


def _messages(body: Json) -> list[Json]:
    """Return the turns; results of tools that stand inside of one are turns of their own."""
    turns: list[Json] = []
    for message in body.get("messages") or []:
        content = message.get("content")
        parts = content if isinstance(content, list) else []
        results = [part for part in parts if part.get("type") == "tool_result"]
        turns += results or [message]
    return turns


def _next(body: Json, turns: list[Json]) -> tuple[str, Json, str] | None:
    """Return the next call of the plan: the tool's full name, its arguments, its namespace."""
    tools = list(_tools(body))
    planned = [
        (place, json.loads(base64.b64decode(found[1])))
        for place, turn in enumerate(turns)
        if turn.get("role") == "user" and (found := _PLAN.search(_text(turn)))
    ]
    if not planned or not tools:  # such as a request for a title
        return None
    place, steps = planned[-1]
    results = [turn for turn in turns[place + 1 :] if _is_result(turn)]
    if len(results) >= len(steps):
        return None
    name, arguments = steps[len(results)]
    for full, namespace in tools:
        if full == name or full.endswith(f"_{name}"):
            return full, arguments, namespace
    # One that Claude Code shows by its name alone, or one that Codex calls from JavaScript.
    is_claude = any(full == SEARCH for full, _ in tools)
    return f"mcp__shared{'-' if is_claude else '_'}memory__{name}", arguments, ""


def _tools(body: Json) -> Iterator[tuple[str, str]]:
    """Yield each tool's name and namespace."""
    extra = [item for item in body.get("input") or [] if item.get("type") == "additional_tools"]
    listed = (body.get("tools") or []) + [tool for item in extra for tool in item["tools"]]
    for tool in listed:
        if tool.get("type") == "namespace":
            yield from ((inner["name"], tool["name"]) for inner in tool["tools"])
        else:
            yield tool.get("name") or tool.get("function", {}).get("name") or "", ""


def _is_result(turn: Json) -> bool:
    kind = turn.get("type", "")
    return turn.get("role") == "tool" or kind == "tool_result" or kind.endswith("_call_output")


def _text(turn: Json) -> str:
    content = turn.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [] if isinstance(part, dict))


def _id(kind: str) -> str:
    return f"{kind}_{uuid.uuid4().hex[:24]}"
