"""A machine is known by an id that stays; its label is what people call it, and the newest counts."""

import json
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import select

from memory import crud, machine
from memory.database import Database
from memory.drafts import Kind
from memory.errors import InvalidInput
from memory.machine import FILE, identify, settle, usual_label
from memory.models import Entry
from memory.settings import Settings


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the file that tells this host from others, which the test may write."""
    mark = tmp_path / "machine-id"
    mark.write_text("0123456789abcdef0123456789abcdef\n")
    monkeypatch.setattr(machine, "_MARKS", (str(mark),))
    monkeypatch.setattr(machine, "_CONTAINERS", (str(tmp_path / "containerenv"),))
    monkeypatch.setattr(platform, "node", lambda: "Laptop.example")
    return mark


def named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(platform, "node", lambda: name)


@pytest.mark.usefixtures("host")
def test_an_id_begins_with_the_host_s_name_and_is_the_same_before_it_is_settled(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    found = identify(home)
    assert re.fullmatch(r"laptop-example-[0-9a-f]{8}", found)
    assert not home.exists(), "asking writes nothing"
    settle(home)
    assert identify(home) == found
    assert [each.name for each in home.iterdir()] == [FILE]
    assert found != identify(tmp_path / "another"), "another account has other stores"


@pytest.mark.usefixtures("host")
def test_an_id_outlives_the_host_s_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settle(tmp_path)
    before = identify(tmp_path)
    named(monkeypatch, "renamed")
    settle(tmp_path)
    assert identify(tmp_path) == before
    assert usual_label(before, tmp_path) == "renamed"
    assert usual_label("chosen", tmp_path) == "chosen"


def test_a_home_that_was_copied_to_another_host_is_another_machine(
    host: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    settle(home)
    first = identify(home)
    host.write_text("f" * 32)
    second = identify(home)
    assert second != first
    settle(home)
    assert identify(home) == second


def test_a_container_s_id_stays_with_its_home(
    host: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "containerenv").touch()
    named(monkeypatch, "4f5e6d")
    one, other = tmp_path / "one", tmp_path / "other"
    settle(one)
    named(monkeypatch, "7a8b9c")
    assert identify(one).startswith("4f5e6d-")
    assert identify(other).startswith("7a8b9c-")
    host.write_text("another image's")
    assert identify(one).startswith("4f5e6d-")


@pytest.mark.parametrize("text", ["", "uninitialized\n", "\xff"])
def test_a_host_without_a_mark_keeps_what_was_settled(
    host: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str
) -> None:
    host.write_text(text, "latin-1")
    settle(tmp_path)
    before = identify(tmp_path)
    named(monkeypatch, "renamed")
    assert identify(tmp_path) == before
    host.unlink()
    assert identify(tmp_path) == before


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize("text", ["", "{", "[]", '{"id": 3}'])
def test_a_damaged_file_is_made_anew(tmp_path: Path, text: str) -> None:
    before = identify(tmp_path)
    (tmp_path / FILE).write_text(text)
    assert identify(tmp_path) == before
    settle(tmp_path)
    assert json.loads((tmp_path / FILE).read_text())["id"] == before


@pytest.mark.usefixtures("host")
def test_a_home_that_cannot_be_written_still_has_an_id(tmp_path: Path) -> None:
    home = tmp_path / "file"
    home.touch()
    settle(home)
    assert identify(home).startswith("laptop-example-")


def test_the_environment_may_name_the_machine(tmp_path: Path) -> None:
    environment = {"MEMORY_HOME": str(tmp_path), "MEMORY_MACHINE": " mine "}
    assert Settings.from_environment(environment).machine == "mine"
    del environment["MEMORY_MACHINE"]
    assert Settings.from_environment(environment).machine == identify(tmp_path)


async def test_the_newest_label_counts_and_the_old_ones_stay(database: Database) -> None:
    async def label(name: str, *, is_usual: bool = False) -> bool:
        return await database.transact(
            lambda s: crud.label_machine(s, "laptop-1", name, is_usual=is_usual)
        )

    assert await label("laptop", is_usual=True)
    assert not await label("laptop", is_usual=True)
    assert await label("renamed host", is_usual=True)
    assert await label("work"), "a chosen label"
    assert not await label("work")
    assert not await label("renamed host", is_usual=True), "a usual one gives way to it"
    assert await label("Desk")
    assert await database.transact(crud.machine_labels) == {"laptop-1": "Desk"}
    labels = select(Entry.content).where(Entry.kind == Kind.MACHINE).order_by(Entry.version)
    kept = await database.transact(lambda s: s.scalars(labels))
    assert list(kept) == ["laptop", "renamed host", "work", "Desk"]


@pytest.mark.parametrize("name", ["", " ", "x" * 101])
async def test_a_label_that_says_nothing_is_refused(database: Database, name: str) -> None:
    with pytest.raises(InvalidInput):
        await database.transact(lambda s: crud.label_machine(s, "laptop-1", name))


async def test_a_machine_is_found_by_its_id_and_by_a_label_that_only_it_has(
    database: Database,
) -> None:
    for name, label in {"a-1": "Laptop", "b-2": "desk", "c-3": "desk"}.items():
        await database.transact(lambda s, n=name, called=label: crud.label_machine(s, n, called))

    async def find(name: str) -> str | None:
        return await database.transact(lambda s: crud.find_machine(s, name))

    assert await find("b-2") == "b-2"
    assert await find("laptop") == "a-1"
    assert await find("unknown") is None
    with pytest.raises(InvalidInput, match="b-2, c-3"):
        await find("desk")


@pytest.mark.parametrize(
    ("name", "label"), [("password-host", "password-host"), ("x" * 253, "x" * 100), (" ", "id-1")]
)
async def test_no_host_name_keeps_a_machine_from_being_known(
    database: Database, name: str, label: str
) -> None:
    await database.transact(lambda s: crud.label_machine(s, "id-1", name, is_usual=True))
    assert await database.transact(crud.machine_labels) == {"id-1": label}


async def test_a_machine_may_be_called_like_a_secret(database: Database) -> None:
    await database.transact(lambda s: crud.label_machine(s, "db-password-1", "password-host"))
    assert (await database.transact(crud.machine_labels))["db-password-1"] == "password-host"


def test_people_see_and_change_the_label(environment: dict[str, str]) -> None:
    def memory(*arguments: str) -> str:
        command = [sys.executable, "-m", "memory.cli", *arguments]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert memory("machine").startswith("test-machine  (test-machine)\n")
    assert json.loads(memory("machines", "--json"))["machines"] == []
    assert json.loads(memory("machine", "--label", "the desk", "--json")) == {
        "is_error": False,
        "id": "test-machine",
        "label": "the desk",
        "changed": True,
    }
    (only,) = json.loads(memory("machines", "--json"))["machines"]
    assert (only["label"], only["is_this"], only["sessions"]) == ("the desk", True, 0)
    assert "the desk" in memory("machines")
    assert "machine     the desk  (test-machine)\n" in memory("status")
    assert json.loads(memory("status", "--json"))["machine"]["label"] == "the desk"
