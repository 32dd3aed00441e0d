"""Each command that a document prints is run here, and a new one fails until it is."""

import asyncio
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from documents import DOCUMENTS, PROGRAMS, ROOT, blocks, commands, put_stores, run
from homes import free_port, new_folder, remove, until
from mcp_process import Server

from memory.settings import Settings

pytest_plugins = ("home_fixtures",)

README = (ROOT / "README.md").read_text("utf-8")
BACKUP = (ROOT / "docs" / "backup.md").read_text("utf-8")
CLIENTS = ("claude ", "codex ", "opencode ")
SESSION = "11111111-1111-4111-8111-111111111111"

UP = ("scripts/up --no-import", "scripts/up", "scripts/up", "scripts/up --embeddings")
READING = (
    "memory --help",
    "memory doctor",  # before the clients are connected: it would start each one's server
    "memory changes claude --since 2d",
    "memory connect",
    "memory connect --print",
    "memory connect claude opencode --brief",
    "memory connect codex",
    "memory connect all --yes",
    "memory disconnect",
    "memory context PROJECT",
    "memory coverage",
    "memory coverage --mend",
    "memory import",
    "memory import --client opencode --root FOLDER",
    "memory import --root FOLDER --machine NAME",
    "memory machine",
    "memory machine --label NAME",
    "memory machines",
    "memory pg status",
    "memory projects",
    "memory reindex",
    "memory rescan",
    'memory search "why does the build fail"',
    "memory sessions --client codex --limit 5",
    "memory show ID",
    "memory status",
    "memory upgrade",
    "memory url",
    "memory verify ENTRY",
    "memory-import --drain",
)
STATUSES = {
    # Nobody is there to be asked, which they say and change nothing.
    "memory connect": {1},
    "memory connect claude opencode --brief": {1},
    "memory connect codex": {1},
    "memory disconnect": {1},
    "memory rescan": {0, 1},  # 1: it found something
}
"""What a command may end with, where that is not 0 alone."""
SERVER = (
    "memory pg start|stop|status|restart",
    "memory pg stop",
    "scripts/bootstrap-pg.sh",
    "scripts/start-pg.sh start|stop|restart|status",
    "scripts/start-pg.sh start",
)
WATCHING = ("memory watch",)
BY_HAND = (
    'export DATABASE_URL="$(memory url)"',
    "alembic upgrade head",
    "alembic check",
    "alembic downgrade -1",
    "python -m examples.two_client_demo",
)
DEVELOPING = ("scripts/test", "scripts/test tests/test_feed.py -q", "scripts/check", ".ci/run")
SCHEMA_TOOLS = ("python -m memory.mcp_server --write-handshake",)
ELSEWHERE = {
    "claude --plugin-dir clients/claude-plugin": "needs the client",
    "claude -p": "needs an account",
    "codex exec": "the same",
    "scripts/check-clients": "installs the clients themselves",
    "claude mcp add -s user": "the README has the whole line",
    "codex mcp add": "the same",
    "opencode mcp add": "the same",
    "git pull": "the network",
    "python scripts/bench/coding.py": "a benchmark; test_benchmarks.py looks up what it takes",
    "python scripts/bench/devbench.py devbench_dataset.json": "the same",
    "python scripts/bench/locomo.py locomo10.json": "the same",
    "python scripts/bench/million.py --rows 1000000 --keep DIR --queries 8": "the same",
    "memory connect opencode --no-hooks": "edits a client's files; test_connect.py runs it",
    "python -I -S -c pass": "a bare interpreter, to compare with",
    "scripts/fuzz_importers.py": "takes hours; test_fuzz_importers.py runs a slice",
    "memory brief": "says nothing where nothing is recorded; test_brief.py runs it",
    "loginctl enable-linger": "changes the machine",
    "memory-import --hook": "takes what a client writes to it; test_hooks.py runs it",
    "python -P -m importers": "the same",
    "memory-import service install": "changes the machine; test_installation.py runs it",
    "memory-import service install|uninstall|status": "the same",
    "memory-import service status": "the same",
    "python -m pytest": "this is it",
    "python3 -m venv .venv && source .venv/bin/activate && pip install -r requirements-dev.txt": (
        "the network; scripts/venv.sh does the same, and test_scripts.py runs that"
    ),
    'export LD_LIBRARY_PATH="$PWD/.embedded-pg/pginstall/lib"; export PYTHONPATH="$PWD"': (
        "sets what the next line needs"
    ),
}
"""Commands that no test can run, each with the reason."""


def _known() -> set[str]:
    tested = {*UP, *READING, *SERVER, *WATCHING, *BY_HAND, *DEVELOPING, *SCHEMA_TOOLS}
    for block in blocks(BACKUP):  # test_backup.py runs them
        tested |= set(commands(f"```sh\n{block}```"))
    bare = {each.replace(".venv/bin/", "") for each in (*tested, *ELSEWHERE)}
    bare = {each.replace("ENTRY", "ID") for each in bare}
    names = {" ".join(each.split()[:2]) for each in READING}  # a command without what it takes
    return bare | names | {line for line in commands(README) if line.startswith(CLIENTS)}


def test_no_document_prints_a_command_that_nothing_runs() -> None:
    printed = {one: path.name for path in DOCUMENTS for one in commands(path.read_text("utf-8"))}
    assert {one: name for one, name in printed.items() if one not in _known()} == {}


def test_nothing_is_run_that_no_document_prints_any_more() -> None:
    printed = {one for path in DOCUMENTS for one in commands(path.read_text("utf-8"))}
    printed |= {" ".join(each.split()[:2]) for each in READING}
    assert _known() - printed == {
        "scripts/up --no-import",  # the README names the option by itself
        "scripts/bootstrap-pg.sh",
        "scripts/start-pg.sh start|stop|restart|status",
    }


def test_a_new_command_would_be_seen() -> None:
    text = (
        "Type `memory fly\n--high`, `scripts/new.sh`, or:\n```sh\n.venv/bin/memory x # why\n```\n"
    )
    assert commands(text) == ["memory x", "memory fly --high", "scripts/new.sh"]
    assert commands("The `memory` of `scripts/bench/` and `memory.crud`") == []


# --- the command line -------------------------------------------------------------------------


@pytest.mark.timeout(900)  # some thirty programs, one after another
def test_the_commands_of_the_command_line_run(environment: dict[str, str], tmp_path: Path) -> None:
    put_stores(tmp_path)
    (tmp_path / ".config" / "opencode").mkdir(parents=True)
    inside = {**environment, "HOME": str(tmp_path)}
    done = run("memory import --json", inside)
    assert done.returncode == 0, done.stdout + done.stderr
    projects = json.loads(run("memory projects --json", inside).stdout)["projects"]
    sessions = json.loads(run("memory sessions --json", inside).stdout)["sessions"]
    changes = json.loads(run("memory changes claude --json", inside).stdout)["changes"]
    words = {
        "PROJECT": shlex.quote(projects[0]["name"]),
        "ID": sessions[0]["id"],
        "ENTRY": changes[0]["id"],
        "NAME": "desk",
        "FOLDER": shlex.quote(str(tmp_path / ".local/share/opencode")),
    }
    for command in READING:
        script = re.sub(r"\b[A-Z]+\b", lambda found: words[found[0]], command)
        done = run(script, inside, folder=tmp_path, timeout=400)
        assert done.returncode in STATUSES.get(command, {0}), command + done.stdout + done.stderr
        assert done.stdout.strip() or command == "memory-import --drain", command


@pytest.mark.timeout(240)
def test_watch_imports_what_is_there_and_ends_in_order(
    environment: dict[str, str], tmp_path: Path
) -> None:
    put_stores(tmp_path)
    inside = {**environment, "HOME": str(tmp_path)}
    [command] = WATCHING
    watcher = subprocess.Popen(
        [PROGRAMS / command.split()[0], *command.split()[1:]],
        env=inside,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:

        def has_all_three() -> bool:
            assert watcher.poll() is None
            totals = json.loads(run("memory status --json", inside).stdout)["totals"]
            return {"claude", "codex", "opencode"} <= {each["source_client"] for each in totals}

        until(has_all_three, seconds=150)
    finally:
        watcher.send_signal(signal.SIGINT)
        said, _ = watcher.communicate(timeout=60)
    assert watcher.returncode in {0, 130}, said


@pytest.mark.timeout(300)
def test_the_commands_of_the_embedded_server_run(home: Settings) -> None:
    inside = {**_bare_environment(home), "HOME": os.environ["HOME"]}
    for command in SERVER:
        start, _, choice = command.rpartition(" ")
        scripts = [f"{start} {each}" for each in choice.split("|")] if "|" in choice else [command]
        for script in scripts:
            done = run(script, inside)
            allowed = {0, 3} if script.endswith(" status") else {0}
            assert done.returncode in allowed, script + done.stdout + done.stderr
            assert done.stdout.startswith("PostgreSQL "), script


def _bare_environment(settings: Settings) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "MEMORY_HOME": str(settings.home),
        "MEMORY_PG_PORT": str(settings.port),
    }


@pytest.mark.timeout(300)
def test_the_steps_by_hand_run_one_after_another(empty_environment: dict[str, str]) -> None:
    done = run("\n".join(BY_HAND), empty_environment, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_handshake_that_the_documents_have_written_is_the_committed_one(
    tmp_path: Path,
) -> None:
    [command] = SCHEMA_TOOLS
    package = shutil.copytree(ROOT / "memory", tmp_path / "memory")
    inside = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(tmp_path)}
    done = run(command, inside, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    written = (package / "mcp_server" / "handshake.json").read_bytes()
    assert written == (ROOT / "memory" / "mcp_server" / "handshake.json").read_bytes()


# --- the scripts of developers ----------------------------------------------------------------


def test_the_scripts_of_developers_run_every_check(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    for name in ("scripts", ".ci"):
        shutil.copytree(ROOT / name, clone / name)
    for name in ("pyproject.toml", *(path.name for path in ROOT.glob("requirements*.txt"))):
        (clone / name).write_bytes((ROOT / name).read_bytes())
    programs = clone / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name in ("python", "memory", "pip", "ruff", "mypy", "lint-imports"):
        program = programs / name
        program.write_text(f'#!/bin/sh\n# {programs}/python\necho "ran {name} $*"\n')
        program.chmod(0o755)
    inside = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TEST_WORKERS": "2"}
    for command in DEVELOPING:
        done = subprocess.run(
            ["bash", "-c", command],
            env=inside,
            cwd=clone,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, command + done.stderr
        last = done.stdout.splitlines()[-1]
        assert last.startswith("ran python -m pytest"), command
        assert last.endswith("tests/test_feed.py -q") == ("test_feed" in command)
        if "test" not in command:
            for check in ("ruff format --check .", "ruff check .", "mypy", "lint-imports"):
                assert f"ran {check}" in done.stdout, command


# --- scripts/up -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Machine:
    """A machine that has never seen the project, its stores apart."""

    settings: Settings
    user: Path

    @property
    def environment(self) -> dict[str, str]:
        """What a user's shell holds; no index can be asked for packages."""
        named = {**_bare_environment(self.settings), "HOME": str(self.user)}
        return {**named, "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """Return a new machine; needs the checkout's own .venv as scripts/test leaves it."""
    marks = [
        ROOT / ".venv" / f"installed-{name}" for name in ("package", "requirements", "embeddings")
    ]
    cksum = subprocess.run(
        ["bash", "-c", 'cat "$0"/pyproject.toml "$0"/requirements*.txt | cksum', ROOT],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    if any(not mark.exists() or mark.read_text() != cksum for mark in marks):
        pytest.skip("scripts/test prepares the .venv that this needs, so that no network is used")
    put_stores(tmp_path)
    found = Machine(Settings(home=new_folder() / "home", port=free_port()), tmp_path)
    yield found
    remove(found.settings)


def up(command: str, machine: Machine) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", command],
        env=machine.environment,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.timeout(900)
def test_up_goes_from_nothing_to_a_filled_ledger_and_changes_nothing_when_run_again(
    machine: Machine,
) -> None:
    said = []
    for command in UP:
        done = up(command, machine)
        assert done.returncode == 0, command + done.stdout + done.stderr
        said.append(done.stdout)
    bare, first, again, embedded = said
    where = f"@127.0.0.1:{machine.settings.port}/memory"
    assert bare.splitlines()[0].startswith(
        "PostgreSQL accepts connections: postgresql://memory:***"
    )
    assert where in bare.splitlines()[0]
    assert "Schema     built" in bare
    assert "The ledger is empty" in bare
    assert "Importing" not in bare
    assert "Schema     is current" in first
    held = totals(first)
    assert set(held) == {"claude", "codex", "opencode"}
    assert all(sessions > 0 and entries > 0 for sessions, entries in held.values())
    assert totals(again) == totals(embedded) == held
    for client in CLIENTS:
        assert re.search(
            rf"^  {client}mcp add .*shared-memory .*memory\.mcp_server", again, re.MULTILINE
        )
    for command in ("watch", "search WORDS", "doctor"):
        assert f"{ROOT}/.venv/bin/memory {command}" in again


def totals(text: str) -> dict[str, tuple[int, int]]:
    """Return sessions and entries by client, as `scripts/up` prints them."""
    table = text.partition("The ledger holds\n")[2].partition("\n\n")[0]
    rows = [line.split() for line in table.splitlines()[1:]]
    return {row[0]: (int(row[1].replace(",", "")), int(row[2].replace(",", ""))) for row in rows}


def test_up_says_in_one_sentence_that_the_named_port_is_taken(machine: Machine) -> None:
    with socket.create_server(("127.0.0.1", machine.settings.port)):
        done = up("scripts/up", machine)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert f"Port {machine.settings.port}, which MEMORY_PG_PORT names, is taken" in done.stderr
    assert not machine.settings.home.exists()


# --- the clients ------------------------------------------------------------------------------

RECORDER = """#!{python}
import json, os, sys
with open(os.environ["RECORD"], "w") as file:
    json.dump(sys.argv, file)
"""


def client_lines() -> list[str]:
    return [line for line in commands_as_printed() if " mcp add " in line]


def commands_as_printed() -> list[str]:
    """Return the clients' lines of the README's blocks just as they stand."""
    lines = "\n".join(re.findall(r"```sh\n(.*?)```", README, re.DOTALL)).splitlines()
    return [line for line in lines if line.startswith(CLIENTS)]


@pytest.mark.parametrize("line", client_lines(), ids=lambda line: line.split()[0])
async def test_the_line_that_connects_a_client_starts_a_server_that_answers(
    line: str, environment: dict[str, str], tmp_path: Path
) -> None:
    checkout = tmp_path / "my clone"
    (checkout / ".venv" / "bin").mkdir(parents=True)
    # No link: a Python that is reached by one looks for its packages there.
    python = checkout / ".venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    programs = tmp_path / "bin"
    programs.mkdir()
    name = line.split(maxsplit=1)[0]
    (programs / name).write_text(RECORDER.format(python=sys.executable))
    (programs / name).chmod(0o755)
    shell = {"PATH": f"{programs}:{os.environ['PATH']}", "RECORD": str(tmp_path / "argv")}
    await asyncio.to_thread(
        subprocess.run, ["bash", "-euc", line], env=shell, cwd=checkout, check=True
    )
    _, *words = json.loads((tmp_path / "argv").read_text())
    assert words[:2] == ["mcp", "add"]
    assert "shared-memory" in words
    options, command = words[: words.index("--")], words[words.index("--") + 1 :]
    assert command == [str(python), "-P", "-m", "memory.mcp_server"]
    given = dict(each.split("=", 1) for each in options if re.match(r"[A-Z_]+=", each))
    assert given == {"DATABASE_URL": ""}
    inside = {**environment, **given}  # the embedded server of the test's own home
    del inside["MEMORY_OWNER_URL"]
    client = {"claude": "claude-code", "codex": "codex-mcp-client"}.get(name, name)
    async with Server(
        inside, client=client, command=tuple(command), directory=str(tmp_path)
    ) as server:
        opening = await server.open()
        assert opening["result"]["serverInfo"]["name"] == "shared-memory"
        status = await server.call("status")
        assert (status["is_error"], status["client"]) == (False, name)
        assert status["database"]["is_reachable"] is True
        recorded = await server.call("record_event", type="connected")
        assert recorded["is_error"] is False
