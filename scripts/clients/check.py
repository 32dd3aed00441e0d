"""Drive the real Claude Code, Codex and OpenCode through the whole loop, and print a table."""

import argparse
import asyncio
import json
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from packages import PACKAGES, Missing, Packages, install
from stage import ROOT, Session, Stage, stage

from memory.brief import INTRODUCTION

CLIENTS: Final = tuple(PACKAGES)
TITLES: Final = {"claude": "Claude Code", "codex": "Codex", "opencode": "OpenCode"}
FILES: Final = {
    "claude": (".claude/settings.json",),
    "codex": (".codex/config.toml",),
    "opencode": (".config/opencode/opencode.jsonc",),
}
_SOON: Final = 2.0  # seconds after a turn in which the transcript is in the ledger
_LATE: Final = 30.0  # seconds after which nobody waits for it any more
_NOWHERE: Final = "postgresql://memory@127.0.0.1:1/memory"
_TRIES: Final = 3
_SLOW: Final = 2.0  # seconds; Codex alone would drop a server after one

Row = tuple[str, dict[str, str]]


def main() -> int:
    """Run the check; return 0 when every step of every client went well."""
    parser = argparse.ArgumentParser(prog="scripts/check-clients", description=__doc__)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "shared-memory")
    parser.add_argument("--latest", action="store_true", help="the newest clients there are")
    parser.add_argument("--client", choices=CLIENTS, action="append", help="only this one")
    given = parser.parse_args()
    started = time.monotonic()
    chosen = tuple(name for name in CLIENTS if name in (given.client or CLIENTS))
    try:
        packages = install(given.cache, latest=given.latest)
        rows = list(_shown(_rows(packages, chosen)))
    except (Missing, RuntimeError) as error:
        print(f"check-clients: {error}", file=sys.stderr)
        return 1
    _table(rows, chosen, packages)
    print(f"{time.monotonic() - started:.0f} s, {datetime.now(UTC):%Y-%m-%d %H:%MZ}")
    return int(any("✗" in cell for _, cells in rows for cell in cells.values()))


def _rows(packages: Packages, chosen: tuple[str, ...]) -> Iterator[Row]:
    with stage(packages) as there:
        marks = {name: f"{name}-{secrets.token_hex(6)}" for name in chosen}
        files = {name: _contents(there, name) for name in chosen}
        there.memory("connect", *chosen, "--yes")
        yield "the server is listed as healthy", _each(chosen, lambda name: _listed(there, name))
        written: dict[str, Session] = {}
        yield (
            "a session records and searches",
            _each(chosen, lambda name: _writes(there, name, marks, written)),
        )
        yield (
            "its transcript comes by the hook alone",
            _each(chosen, lambda name: _captured(there, written[name], within=_LATE)),
        )
        read: dict[str, Session] = {}
        with there.watching():
            yield (
                "it finds what the others recorded",
                _each(chosen, lambda name: _reads(there, name, marks, read)),
            )
            yield (
                f"its transcript is there within {_SOON:.0f} s",
                _each(chosen, lambda name: _captured(there, read[name], within=_SOON)),
            )
        there.memory("connect", *chosen, "--yes", "--brief")
        yield "a brief at session start", _each(chosen, lambda name: _briefed(there, name, marks))
        there.memory("connect", *chosen, "--yes", "--no-brief")
        yield "the user's own notify still runs", _each(chosen, lambda name: _notified(there, name))
        yield from _hard_rows(there, chosen, files)


def _hard_rows(
    there: Stage, chosen: tuple[str, ...], files: dict[str, list[bytes]]
) -> Iterator[Row]:
    """Go on where the server has a hard time, then take everything back."""
    there.memory("connect", *chosen, "--yes", DATABASE_URL=_NOWHERE)
    yield "tools without a database", _each(chosen, lambda name: _has_tools(there, name))
    there.memory("connect", *chosen, "--yes", DATABASE_URL=_handed_on())
    yield "a missing address is told", _each(chosen, lambda name: _misses(there, name))
    there.memory("connect", *chosen, "--yes")
    _slow_down(there)
    yield (
        f"tools of a server {_SLOW:.0f} s late",
        _each(chosen, lambda name: _has_tools(there, name)),
    )
    there.memory("connect", *chosen, "--yes")
    there.memory("disconnect", *chosen, "--yes")
    yield (
        "disconnect leaves no trace",
        _each(chosen, lambda name: _restored(there, name, files)),
    )
    for era in ("legacy", "modern"):
        yield f"inspector --strict, {era}", {"": _inspected(there, era)}


def _each(chosen: tuple[str, ...], step: Callable[[str], str]) -> dict[str, str]:
    return {name: step(name) for name in chosen}


def _listed(there: Stage, name: str) -> str:
    """Ask the client itself; Codex only says that a server is switched on."""
    if name == "codex":
        listed = json.loads(there.run("codex", "mcp", "list", "--json").stdout)
        return _mark(any(each["name"] == "shared-memory" and each["enabled"] for each in listed))
    said = there.run(name, "mcp", "list")
    lines = (said.stdout + said.stderr).lower().splitlines()
    return _mark(any("shared-memory" in line and "connected" in line for line in lines))


def _writes(there: Stage, name: str, marks: dict[str, str], written: dict[str, Session]) -> str:
    decision = {"key": f"{name}.lamp", "decision": f"The lamp of {name} is {marks[name]}."}
    session = there.session(
        name,
        f"Settle the lamp, turn {marks[name]}.",
        ("record_decision", decision),
        ("search_history", {"query": "which lamp was settled"}),
    )
    written[name] = session
    results = session.results()
    is_right = len(results) == 2 and all('"is_error": false' in _plain(each) for each in results)
    return _mark(is_right, detail=_told(session))


def _captured(there: Stage, session: Session, *, within: float) -> str:
    """Look when the last turn came into the ledger, and how long after the client's end."""
    deadline = time.monotonic() + _LATE
    while time.monotonic() < deadline:
        at = asyncio.run(there.recorded_at(session.client, session.words))
        if at is not None:
            seconds = max(0.0, at - session.ended_at)
            return _mark(seconds <= within, note=f"{seconds:.1f} s")
        time.sleep(0.2)
    return _mark(False, note=f"not in {_LATE:.0f} s")


def _reads(there: Stage, name: str, marks: dict[str, str], read: dict[str, Session]) -> str:
    """Let the client ask for the others' decisions in the three ways there are."""
    others = [each for each in marks if each != name]
    since = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    calls: list[tuple[str, dict[str, Any]]] = [("get_project_context", {})]
    for other in others:
        calls.append(("find_changes", {"other_client": other, "since": since}))
        calls.append(("search_history", {"query": f"lamp of {other}", "source_client": other}))
    session = there.session(name, f"What was settled, {secrets.token_hex(6)}?", *calls)
    read[name] = session
    results = session.results()
    expected = [others, *([other] for other in others for _ in range(2))]
    found = [
        all(marks[other] in result for other in wanted)
        for wanted, result in zip(expected, results, strict=False)
    ]
    is_right = len(found) == len(calls) and all(found)
    return _mark(is_right, detail=f"{found}\n{_told(session)}\n{results}")


def _briefed(there: Stage, name: str, marks: dict[str, str]) -> str:
    """Look whether the model is told by itself what every client has settled."""
    if name == "codex":  # its hooks have to be trusted by hand first
        return "-"
    for number in range(_TRIES):
        if number:  # on a busy machine it is late, and a session waits for none
            _be_patient(there)
        session = there.session(name, f"What holds here, {secrets.token_hex(6)}?")
        for body in session.requests:
            asked = json.dumps(body, ensure_ascii=False)
            if INTRODUCTION in asked and all(mark in asked for mark in marks.values()):
                return _mark(True, note=f"at try {number + 1}" if number else "")
    return _mark(False, detail=_told(session))


def _be_patient(there: Stage) -> None:
    """Let Claude Code's hook take longer: what is looked at is whether a brief arrives at all."""
    path = there.home / ".claude" / "settings.json"
    text = path.read_text("utf-8")
    if "--seconds" not in text:
        path.write_text(text.replace("--client=claude", "--client=claude --seconds=9"), "utf-8")


def _notified(there: Stage, name: str) -> str:
    return _mark((there.home / "notified").exists()) if name == "codex" else "-"


def _has_tools(there: Stage, name: str) -> str:
    """Let the model call a tool, which answers without a database too."""
    session = there.session(name, "Who am I?", ("status", {}))
    results = session.results()
    is_right = len(results) == 1 and '"is_reachable"' in results[0]
    return _mark(is_right, detail=f"{results}\n{_told(session)}")


def _handed_on() -> str:
    """Return an address with a password, which the clients' files only name."""
    return _NOWHERE.replace("@", f":{secrets.token_hex(6)}@")


def _misses(there: Stage, name: str) -> str:
    """Start a client where the variable is not set that its file hands on."""
    session = there.session(name, "Who am I?", ("status", {}))
    results = session.results()
    is_right = len(results) == 1 and '"database_url_missing"' in results[0]
    return _mark(is_right, detail=f"{results}\n{_told(session)}")


def _slow_down(there: Stage) -> None:
    """Put a program that waits in the place of the server's Python, in every client's file."""
    python = str(ROOT / ".venv" / "bin" / "python")
    slow = there.project.parent / "slow-python"
    slow.write_text(f'#!/bin/sh\nsleep {_SLOW}\nexec "{python}" "$@"\n', "utf-8")
    slow.chmod(0o755)
    for name in (".claude.json", ".codex/config.toml", ".config/opencode/opencode.jsonc"):
        path = there.home / name
        if path.exists():
            text = path.read_text("utf-8")
            for each in (f'"{python}3"', f'"{python}"'):
                text = text.replace(each, f'"{slow}"', 1)
            path.write_text(text, "utf-8")


def _contents(there: Stage, name: str) -> list[bytes]:
    return [(there.home / each).read_bytes() for each in FILES[name]]


def _restored(there: Stage, name: str, files: dict[str, list[bytes]]) -> str:
    is_clean = True
    if name == "claude":
        text = (there.home / ".claude.json").read_text("utf-8")
        is_clean = "shared-memory" not in json.loads(text).get("mcpServers", {})
    return _mark(is_clean and _contents(there, name) == files[name])


def _inspected(there: Stage, era: str) -> str:
    python = str(ROOT / ".venv" / "bin" / "python")
    program = (there.packages.inspector / "mcp-inspector").resolve()
    command = [there.packages.node, program, "--cli", python, "-P", "-m", "memory.mcp_server"]
    options = ["--method", "tools/list", "--format", "json", "--strict", "--protocol-era", era]
    done = there.run(*command, *options)
    return _mark(done.returncode == 0, detail=done.stdout[-500:] + done.stderr[-500:])


def _plain(text: str) -> str:
    return text.replace('":', '": ').replace('":  ', '": ')


def _told(session: Session) -> str:
    return f"{session.output[-1500:]}\n{len(session.requests)} requests"


def _mark(is_right: bool, *, note: str = "", detail: str = "") -> str:
    if not is_right and detail:
        print(detail, file=sys.stderr)
    return " ".join(filter(None, ("✓" if is_right else "✗", note)))


def _shown(rows: Iterator[Row]) -> Iterator[Row]:
    """Say each step when it is over: all of them take minutes."""
    for words, cells in rows:
        told = ", ".join(f"{name} {cell}".strip() for name, cell in cells.items())
        print(f"{words}: {told}", file=sys.stderr, flush=True)
        yield words, cells


def _table(rows: list[Row], chosen: tuple[str, ...], packages: Packages) -> None:
    titles = [f"{TITLES[name]} {packages.versions[name]}" for name in chosen]
    print(f"\n| step | {' | '.join(titles)} |\n|---|{'---|' * len(titles)}")
    for words, cells in rows:
        shown = [cells.get(name, cells.get("", "")) for name in chosen]
        print(f"| {words} | {' | '.join(shown)} |")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.SubprocessError as error:
        sys.exit(f"check-clients: {error}")
