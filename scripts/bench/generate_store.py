"""Write a home folder with the stores of Claude Code, Codex and OpenCode, of any size.

Run: python scripts/bench/generate_store.py DIR [--bytes 200M] [--files N] [--single-rollout 2G]
     [--client claude codex opencode] [--seed 1]
The rows have the shape of those that Claude Code 2.1, Codex 0.171 and OpenCode 1.18 write: tool
output makes up most of the bytes, lengths have long tails, a part comes back word for word.
``--bytes`` is shared out among the clients, ``--files`` is the number of their sessions together,
``--single-rollout`` writes nothing but one rollout of Codex of that size.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from generate_database import write_database
from speech import CWD, Clock, Speech

__all__ = ["CLIENTS", "generate", "single_rollout", "size_of"]

CLIENTS: Final = ("claude", "codex", "opencode")

_MEAN_SESSION: Final = 400_000
_SPREAD: Final = 1.4  # of the logarithm of a session's size
_Row = Mapping[str, Any]


def size_of(text: str) -> int:
    """Return the bytes that ``200M`` or ``2G`` says; units are powers of 1000."""
    units = {"K": 10**3, "M": 10**6, "G": 10**9}
    number, unit = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 1)
    return int(float(number) * unit)


def generate(
    home: Path, *, size: int, seed: int = 1, clients: tuple[str, ...] = CLIENTS, files: int = 0
) -> int:
    """Write the clients' stores under a home folder; return the bytes that were written."""
    speech = Speech(seed)
    writers: dict[str, Callable[[Path, Speech, list[int]], int]] = {
        "claude": _claude,
        "codex": _codex,
        "opencode": write_database,
    }
    written = 0
    for client in clients:
        share, count = size // len(clients), -(-files // len(clients))
        written += writers[client](home, speech, _sizes(speech, share, count))
    return written


def single_rollout(home: Path, *, size: int, seed: int = 1) -> int:
    """Write one rollout of Codex of this size, and nothing else."""
    return _codex(home, Speech(seed), [size])


def _sizes(speech: Speech, size: int, count: int) -> list[int]:
    """Return the sizes of sessions: a few are large, most are small."""
    count = count or max(1, size // _MEAN_SESSION)
    weights = [speech.chance.lognormvariate(0, _SPREAD) for _ in range(count)]
    return [int(size * weight / sum(weights)) for weight in weights]


def _written(path: Path, rows: Iterator[_Row], size: int) -> int:
    """Write rows as lines until the file has its size."""
    path.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with path.open("wb") as file:
        for row in rows:
            line = json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
            written += file.write(line)
            if written >= size:
                break
    return written


def _claude(home: Path, speech: Speech, sizes: list[int]) -> int:
    written = 0
    for size in sizes:
        session = speech.uuid()
        folder = home / ".claude" / "projects" / f"-home-dev-proj{speech.chance.randrange(9)}"
        rows = _claude_rows(speech, session)
        written += _written(folder / f"{session}.jsonl", rows, size)
    return written


_CLAUDE_SHARED: Final[_Row] = {
    "isSidechain": False,
    "userType": "external",
    "entrypoint": "cli",
    "cwd": CWD,
    "version": "2.1.197",
    "gitBranch": "main",
}


def _claude_rows(speech: Speech, session: str) -> Iterator[_Row]:
    clock, last = Clock(speech), None
    shared = {**_CLAUDE_SHARED, "sessionId": session}

    def row(kind: str, message: _Row, **more: Any) -> _Row:
        nonlocal last
        parent, last = last, speech.uuid()
        own = {"type": kind, "message": message, "uuid": last, "timestamp": clock.step()}
        return {"parentUuid": parent, **own, **shared, **more}

    def said(identity: str, block: _Row) -> _Row:
        usage = {"input_tokens": 100, "cache_read_input_tokens": 3000, "output_tokens": 50}
        message: dict[str, Any] = {
            "id": identity,
            "type": "message",
            "role": "assistant",
            "model": "claude-opus",
        }
        message |= {"content": [block], "stop_reason": "tool_use", "usage": usage}
        return row("assistant", message, requestId=f"req_{identity}")

    while True:
        prompt = {"role": "user", "content": speech.prose(3.5)}
        yield row("user", prompt, promptSource="typed", permissionMode="default")
        for _ in range(1 + int(speech.chance.expovariate(1 / 8))):
            identity = f"msg_{speech.hexadecimal(24)}"
            thought = {"thinking": speech.prose(3.5), "signature": speech.hexadecimal(200)}
            yield said(identity, {"type": "thinking", **thought})
            call, (tool, given) = f"toolu_{speech.hexadecimal(24)}", speech.call()
            yield said(identity, {"type": "tool_use", "id": call, "name": tool, "input": given})
            output = speech.output()
            result = {"type": "tool_result", "tool_use_id": call, "content": output}
            kept = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
            yield row("user", {"role": "user", "content": [result]}, toolUseResult=kept)
        text = {"type": "text", "text": speech.prose(4.0)}
        yield said(f"msg_{speech.hexadecimal(24)}", text)


def _codex(home: Path, speech: Speech, sizes: list[int]) -> int:
    written = 0
    for size in sizes:
        clock, thread = Clock(speech), speech.uuid()
        folder = home / ".codex" / "sessions" / f"{clock.now:%Y/%m/%d}"
        path = folder / f"rollout-{clock.now:%Y-%m-%dT%H-%M-%S}-{thread}.jsonl"
        written += _written(path, _codex_rows(speech, clock, thread), size)
    return written


def _codex_rows(speech: Speech, clock: Clock, thread: str) -> Iterator[_Row]:
    ordinal = -1

    def row(kind: str, payload: _Row, **more: Any) -> _Row:
        nonlocal ordinal
        ordinal += 1
        own = {"timestamp": clock.step(), "ordinal": ordinal, "type": kind, "payload": payload}
        return {**own, **more}

    def item(turn: str, **fields: Any) -> _Row:
        passed = {"internal_chat_message_metadata_passthrough": {"turn_id": turn}}
        return row("response_item", {**fields, **passed}, metadata={"history_sequence": ordinal})

    def event(turn: str, kind: str, **fields: Any) -> _Row:
        return row("event_msg", {"type": kind, "thread_id": thread, "turn_id": turn, **fields})

    header = {"id": thread, "session_id": thread, "timestamp": clock.step(), "cwd": CWD}
    header |= {"originator": "codex-tui", "cli_version": "0.171.0", "source": "cli"}
    instructions = {"base_instructions": {"text": speech.cut(19_000)}}
    yield row("session_meta", {**header, "history_mode": "paginated", **instructions})
    while True:
        turn = speech.uuid()
        yield event(turn, "task_started")
        yield row("turn_context", {"turn_id": turn, "cwd": CWD, "model": "gpt"})
        text = speech.prose(3.5)
        said = [{"type": "input_text", "text": text}]
        yield item(turn, type="message", role="user", content=said)
        shown = {"type": "UserMessage", "content": [{"type": "text", "text": text}]}
        yield event(turn, "item_completed", item=shown)
        for _ in range(1 + int(speech.chance.expovariate(1 / 8))):
            yield from _codex_call(speech, turn, item, event)
        answer = [{"type": "output_text", "text": speech.prose(4.0)}]
        yield item(turn, type="message", role="assistant", content=answer)
        yield event(turn, "task_complete", last_agent_message=answer[0]["text"])


def _codex_call(
    speech: Speech, turn: str, item: Callable[..., _Row], event: Callable[..., _Row]
) -> Iterator[_Row]:
    thought = [{"type": "summary_text", "text": speech.prose(2.5)}]
    sealed = speech.hexadecimal(800)
    yield item(turn, type="reasoning", summary=thought, content=None, encrypted_content=sealed)
    call, (tool, given) = f"call_{speech.hexadecimal(24)}", speech.call()
    yield item(turn, type="function_call", name=tool, arguments=json.dumps(given), call_id=call)
    output = speech.output()
    if speech.chance.random() < 0.5:  # not every command is shown as an item of its own
        shown = {"type": "CommandExecution", "id": call, "aggregated_output": output[:10_000]}
        yield event(turn, "item_completed", item=shown)
    text = f"Wall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n{output}"
    yield item(turn, type="function_call_output", call_id=call, output=text)
    used = {"input_tokens": 1000, "cached_input_tokens": 500, "output_tokens": 60}
    yield event(turn, "token_count", info={"last_token_usage": used})


def main() -> None:
    """Write the store and say how much it is."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("home", type=Path, help="a folder that does not exist yet")
    parser.add_argument("--bytes", type=size_of, default=size_of("200M"), dest="size")
    parser.add_argument("--files", type=int, default=0)
    parser.add_argument("--single-rollout", type=size_of, default=0)
    parser.add_argument("--client", nargs="+", choices=CLIENTS, default=CLIENTS)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    given.home.mkdir(parents=True)
    began = time.perf_counter()
    if given.single_rollout:
        written = single_rollout(given.home, size=given.single_rollout, seed=given.seed)
    else:
        clients = tuple(given.client)
        written = generate(
            given.home, size=given.size, seed=given.seed, clients=clients, files=given.files
        )
    print(f"{written / 1e6:.1f} MB in {time.perf_counter() - began:.1f} s under {given.home}")


if __name__ == "__main__":
    main()
