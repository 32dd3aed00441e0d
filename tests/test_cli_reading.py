"""What the command line shows of a ledger."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import event
from test_cli import PROGRAM, run

from memory import crud
from memory.cli.names import project_named, project_names
from memory.database import Database
from memory.drafts import Draft, Kind, SessionDraft, project_id_of, session_id_of
from memory.program import typed

ESCAPE = "\x1b[31m"
SESSION = session_id_of("claude", "first")
PROJECT = project_id_of("Lighthouse")


def message(number: int, role: str, content: str) -> Draft:
    return Draft(
        kind=Kind.MESSAGE,
        role=role,
        content=content,
        source_client="claude",
        provider="claude",
        session_id=SESSION,
        source_id=f"m{number}",
        position=number,
        occurred_at=datetime(2026, 3, 1, 9, number, tzinfo=UTC),
    )


def value(kind: Kind, key: str, content: str, client: str) -> Draft:
    return Draft(kind=kind, key=key, content=content, source_client=client, project_id=PROJECT)


@pytest.fixture
async def filled(database: Database) -> None:
    """Fill the ledger: one project, a session of Claude's, and a fact that Codex changed."""

    async def fill(session: Any) -> None:
        await crud.create_project(session, "Lighthouse", source_client="claude")
        await crud.start_session(
            session,
            SessionDraft(
                provider="claude",
                source_session_id="first",
                source_client="claude",
                title="Fix the lamp",
                project_id=PROJECT,
            ),
        )
        drafts = [
            message(1, "user", f"Why does rotate_lamp() {ESCAPE}stall?\u202e"),
            message(2, "assistant", "\n".join(f"line {number}" for number in range(30))),
        ]
        await crud.append(session, drafts)
        await crud.record(session, value(Kind.FACT, "lamp", "500 W", "claude"))

    await database.transact(fill)
    await database.transact(
        lambda session: crud.record(session, value(Kind.FACT, "lamp", "700 W", "codex"))
    )


def answer(environment: dict[str, str], *arguments: str) -> dict[str, Any]:
    done = run(environment, *arguments, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert next(iter(found.items())) == ("is_error", False)
    return found


def shown(environment: dict[str, str], *arguments: str) -> str:
    done = run(environment, *arguments)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout
    assert not any(line != line.rstrip() for line in done.stdout.splitlines())
    return done.stdout


@pytest.mark.usefixtures("filled")
def test_status_counts_what_each_client_has(environment: dict[str, str]) -> None:
    found = answer(environment, "status")
    held = {each["source_client"]: each["entries"] for each in found["totals"]}
    assert held == {"claude": 3, "codex": 1}
    text = shown(environment, "status")
    assert re.search(r"^claude +1 +3 +0 +0 +2026-03-01 09:01Z", text, re.MULTILINE)
    assert ":***@" in text


def test_status_of_an_empty_ledger_says_what_fills_it(environment: dict[str, str]) -> None:
    said = typed("The ledger is empty; `memory import` fills it.")
    assert said in shown(environment, "status")


@pytest.mark.usefixtures("filled")
def test_sessions_lists_titles_and_filters_by_project_and_client(
    environment: dict[str, str],
) -> None:
    (only,) = answer(environment, "sessions", "--project", "lighthouse")["sessions"]
    assert (only["id"], only["title"], only["entries"]) == (str(SESSION), "Fix the lamp", 2)
    assert answer(environment, "sessions", "--client", "codex")["sessions"] == []
    assert shown(environment, "sessions", "--client", "codex") == "No sessions found.\n"
    text = shown(environment, "sessions", "--client", "claude-code")
    assert "Fix the lamp" in text
    assert str(SESSION)[:13] in text


async def test_a_session_without_title_is_listed_by_the_first_line_of_its_user(
    database: Database, environment: dict[str, str]
) -> None:
    async def fill(session: Any) -> None:
        for name in ("first", "silent"):
            await crud.start_session(
                session,
                SessionDraft(provider="claude", source_session_id=name, source_client="claude"),
            )
        later = message(3, "user", "And then?")
        begins = message(2, "user", f"\n  Why does it {ESCAPE}stall?  \nIt did not before.")
        await crud.append(session, [later, message(1, "assistant", "Ready."), begins])

    await database.transact(fill)
    found = answer(environment, "sessions")["sessions"]
    lines = {each["source_session_id"]: each["first_line"] for each in found}
    assert lines == {"first": f"Why does it {ESCAPE}stall?", "silent": None}
    assert [each["title"] for each in found] == [None, None]
    rows = shown(environment, "sessions").splitlines()
    assert rows[0].endswith("title or first line")
    assert rows[1].endswith(" -")  # it began now, and the other one's entries are older
    assert rows[2].endswith(" Why does it stall?")


@pytest.mark.usefixtures("filled")
def test_show_pages_through_a_conversation_by_a_short_id(environment: dict[str, str]) -> None:
    short = str(SESSION)[:8]
    first = answer(environment, "show", short, "--limit", "1")
    second = answer(environment, "show", short, "--limit", "1", "--after", first["next_cursor"])
    assert [each["role"] for each in first["entries"] + second["entries"]] == ["user", "assistant"]
    assert second["next_cursor"] is None
    text = shown(environment, "show", short)
    assert "Why does rotate_lamp() stall?" in text
    assert "  … 18 more lines" in text
    assert "line 29" in shown(environment, "show", short, "--full")
    printed = shown(environment, "show", short, "--limit", "1").splitlines()[-1]
    assert printed.startswith(f"More: {typed('memory show')} ")
    assert "line 1" in shown(environment, *printed.split()[2:])


@pytest.mark.usefixtures("filled")
def test_show_of_an_entry_names_what_superseded_it(environment: dict[str, str]) -> None:
    (new,) = answer(environment, "changes", "codex")["changes"]
    claudes = answer(environment, "changes", "claude", "--since", "2000-01-01")["changes"]
    old = next(each for each in claudes if each["kind"] == "fact")
    found = answer(environment, "show", old["id"])
    assert found["entry"]["superseded_by"] == new["id"]
    assert found["project"] == "Lighthouse"
    text = shown(environment, "show", new["id"])
    assert re.search(rf"^supersedes +{old['id']}$", text, re.MULTILINE)
    assert "\n  700 W\n" in text


@pytest.mark.usefixtures("filled")
def test_an_id_that_begins_several_is_refused_with_examples(environment: dict[str, str]) -> None:
    entries = answer(environment, "changes", "claude")["changes"]
    done = run(environment, "show", entries[0]["id"][:8])
    assert done.returncode == 1
    assert done.stderr.endswith("(ambiguous)\n")
    assert entries[0]["id"] in done.stderr


@pytest.mark.parametrize(
    ("ident", "code"),
    [("1234567", "invalid_argument"), ("../etc/x", "invalid_argument"), ("0" * 32, "not_found")],
)
def test_an_id_that_names_nothing_is_told_apart_from_one_that_cannot(
    environment: dict[str, str], ident: str, code: str
) -> None:
    done = run(environment, "show", ident)
    assert done.returncode == 1
    assert done.stderr.endswith(f"({code})\n")


@pytest.mark.usefixtures("filled")
def test_context_shows_what_holds_and_what_held(environment: dict[str, str]) -> None:
    entries = answer(environment, "changes", "claude")["changes"]
    before = next(each["recorded_at"] for each in entries if each["kind"] == "fact")
    now = answer(environment, "context", "LIGHTHOUSE")
    assert [(each["content"], each["source_client"]) for each in now["facts"]] == [
        ("700 W", "codex")
    ]
    then = answer(environment, "context", str(PROJECT), "--as-of", before)
    assert [each["content"] for each in then["facts"]] == ["500 W"]
    text = shown(environment, "context", "lighthouse")
    assert re.search(r"codex +lamp: 700 W", text)
    assert "as of" in shown(environment, "context", "lighthouse", "--as-of", "1w")


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("name", ["Lighthouse", "LIGHTHOUSE", " lighthouse", str(PROJECT)])
def test_a_project_is_named_by_its_name_in_any_case_or_by_its_id(
    environment: dict[str, str], name: str
) -> None:
    assert answer(environment, "context", name)["project"]["id"] == str(PROJECT)


@pytest.mark.usefixtures("filled")
async def test_looking_a_project_up_counts_nothing(database: Database) -> None:
    asked: list[str] = []
    await database.ping()
    assert database._engine is not None

    @event.listens_for(database._engine.sync_engine, "before_cursor_execute")
    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        asked.append(statement)

    found = await database.transact(lambda session: project_named(session, "lighthouse"))
    names = await database.transact(project_names)
    assert (found.id, names) == (PROJECT, {PROJECT: "Lighthouse"})
    assert len(asked) == 2, "one statement each, whatever the ledger holds"
    assert all("count(" not in each and "entries" not in each for each in asked)


def test_a_project_that_is_not_there_is_not_found(environment: dict[str, str]) -> None:
    done = run(environment, "context", "nowhere")
    assert (done.returncode, done.stdout) == (1, "")
    assert typed("`memory projects` lists them. (not_found)") in done.stderr


@pytest.mark.usefixtures("filled")
def test_changes_go_on_from_the_cursor_that_was_printed(environment: dict[str, str]) -> None:
    text = shown(environment, "changes", "codex")
    assert "lamp: 700 W" in text
    cursor = text.splitlines()[-1].removeprefix("Later: --since ")
    assert "Nothing new by codex." in shown(environment, "changes", "codex", "--since", cursor)
    done = run(environment, "changes", "codex", "--since", cursor[:-1] + "x")
    assert done.stderr.endswith("(bad_cursor)\n")
    assert run(environment, "changes", "codex", "--since", "soon").stderr.endswith(
        "(bad_timestamp)\n"
    )


@pytest.mark.usefixtures("filled")
def test_projects_are_listed_with_their_counts(environment: dict[str, str]) -> None:
    (only,) = answer(environment, "projects")["projects"]
    assert (only["name"], only["sessions"], only["entries"]) == ("Lighthouse", 1, 4)
    assert re.search(r"^Lighthouse +1 +4 ", shown(environment, "projects"), re.MULTILINE)


@pytest.mark.usefixtures("filled")
def test_search_shows_a_short_list_and_the_id_it_shows_finds_the_entry(
    environment: dict[str, str],
) -> None:
    asked = ("search", "rotate_lamp", "stall", "--kind", "message")
    found = answer(environment, *asked)
    assert found["total"] == 1
    (hit,) = found["hits"]
    assert hit["entry"]["source_id"] == "m1"
    heading, first, second, last = shown(environment, *asked).splitlines()
    assert re.match(r"Fix the lamp  claude  Lighthouse  [0-9a-f-]{8,}$", heading)
    assert re.match(r" *\d+\.\d{3}  2026-03-01 09:01Z  user  [0-9a-f-]{8,}$", first)
    assert "«rotate_lamp»" in second
    assert last.startswith("1 of 1 matches")
    short = first.split()[-1]
    assert answer(environment, "show", heading.split()[-1])["session"]["id"] == str(SESSION)
    assert answer(environment, "show", short)["entry"]["id"] == hit["entry"]["id"]


@pytest.mark.usefixtures("filled")
def test_search_says_that_nothing_matches(environment: dict[str, str]) -> None:
    assert shown(environment, "search", "zebra") == "No entry matches.\n"
    assert answer(environment, "search", "stall", "--client", "codex")["hits"] == []
    assert answer(environment, "search", "stall", "--until", "2020-01-01")["hits"] == []


@pytest.mark.usefixtures("filled")
def test_search_groups_hits_by_session_and_goes_on_from_the_cursor(
    environment: dict[str, str],
) -> None:
    asked = ("search", "lamp", "stall", "line")
    text = shown(environment, *asked)
    assert text.count("Fix the lamp  claude  Lighthouse") == 1
    assert "(no session)  codex  Lighthouse" in text
    first = shown(environment, *asked, "--limit", "1")
    cursor = first.splitlines()[-1].removeprefix("More: the same with --cursor ")
    rest = answer(environment, *asked, "--cursor", cursor)
    assert len(rest["hits"]) == len(answer(environment, *asked)["hits"]) - 1
    other = run(environment, "search", "lamp", "--cursor", cursor)
    assert other.stderr.endswith("(bad_cursor)\n")


@pytest.mark.usefixtures("filled")
def test_search_shows_the_newest_first_when_asked(environment: dict[str, str]) -> None:
    hits = answer(environment, "search", "lamp", "stall", "line", "--newest")["hits"]
    times = [hit["entry"]["occurred_at"] for hit in hits]
    assert len(times) >= 3
    assert times == sorted(times, reverse=True)


@pytest.mark.usefixtures("filled")
def test_a_hit_is_opened_amid_its_session(environment: dict[str, str]) -> None:
    (hit,) = answer(environment, "search", "rotate_lamp", "--kind", "message")["hits"]
    assert hit["session_title"] == "Fix the lamp"
    assert hit["why"]
    ident = hit["entry"]["id"]
    found = answer(environment, "search", "--open", ident)
    assert found["opened"] == ident
    assert [each["source_id"] for each in found["entries"]] == ["m1", "m2"]
    text = shown(environment, "search", "lamp", "--open", ident)
    assert text.startswith("Fix the lamp  Lighthouse\n")
    assert "> user" in text
    assert "… 18 more lines" in text
    assert typed(f"memory show {SESSION}") in text
    refused = run(environment, "search", "--open", str(SESSION))
    assert (refused.returncode, "id of a session" in refused.stderr) == (1, True)


def test_a_search_for_nothing_is_wrong_usage(environment: dict[str, str]) -> None:
    done = run(environment, "search")
    assert done.returncode == 2
    assert "--open" in done.stderr


def on_a_terminal(environment: dict[str, str], *arguments: str, columns: int) -> str:
    """Run the program on a terminal of this width and return what it wrote there."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    with subprocess.Popen(
        [PROGRAM, *arguments],
        env={**environment, "TERM": "xterm-256color"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    ):
        os.close(theirs)
        written = b""
        # Linux reports the closed other end as an error, other systems as the end of the file.
        with suppress(OSError):
            while part := os.read(ours, 65536):
                written += part
    os.close(ours)
    return written.decode()


@pytest.mark.usefixtures("filled")
def test_a_narrow_terminal_cuts_the_last_column_and_no_id(environment: dict[str, str]) -> None:
    written = on_a_terminal(environment, "sessions", columns=74)
    assert "\x1b[" in written
    lines = [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", written).splitlines()]
    assert max(map(len, lines)) <= 74
    assert lines[1].startswith(f"{str(SESSION)[:13]}  2026-03-01 09:02Z  claude  Lighthouse ")
    assert lines[1].endswith("…")


@pytest.mark.usefixtures("filled")
def test_colour_needs_a_terminal_and_no_color_forbids_it(environment: dict[str, str]) -> None:
    for more, coloured in (({"FORCE_COLOR": "1"}, True), ({"NO_COLOR": "1"}, False), ({}, False)):
        done = run({**environment, "TERM": "xterm", **more}, "context", "lighthouse")
        assert ("\x1b[" in done.stdout) is coloured
