"""An address that no server could use is refused, and what it holds is told to nobody."""

import itertools
from pathlib import Path

import pytest
from test_cli import run
from test_connect import contents, environment, home

from memory.cli.connect import connect
from memory.connect.server import server_of
from memory.database import parse
from memory.errors import InvalidInput

__all__ = ["environment", "home"]

SECRET = "S3" + "cr3t"
DIGITS = "8675" + "3099"
REFUSED = [
    f"host=127.0.0.1 port=5433 user=m password={SECRET} dbname=memory",
    f"password={SECRET}",
    f"mysql://memory:{SECRET}@db.example/memory",
    f"postgresql://memory:{SECRET}@[bad/memory",
    f"postgresql://db.example/memory?user=m&password={SECRET}",
    f"postgresql://memory:p@{SECRET}@db.example/memory",
    f"postgresql://memory:p@ss?{SECRET}@db.example/memory",
    f"postgresql://memory:{SECRET}/memory",
    f"postgresql://memory:{DIGITS}/memory",
    SECRET,
]


@pytest.mark.parametrize("name", ["DATABASE_URL", "MEMORY_OWNER_URL"])
@pytest.mark.parametrize("url", REFUSED)
def test_an_address_that_cannot_be_used_is_refused_without_a_word_of_it(
    name: str, url: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(url, variable=name)
    assert name in str(caught.value)
    assert not [each for each in (SECRET, DIGITS) if each in str(caught.value)]
    assert name in server_of({"HOME": "/nowhere", name: url}).passed


@pytest.mark.parametrize("name", ["DATABASE_URL", "MEMORY_OWNER_URL"])
def test_connecting_writes_and_prints_nothing_of_such_an_address(
    environment: dict[str, str],
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
) -> None:
    before = contents(home)
    for key, value in environment.items():
        monkeypatch.setenv(key, value)
    for url in REFUSED[:5]:
        monkeypatch.setenv(name, url)
        for switches in itertools.product((False, True), repeat=4):
            yes, by_hand, dry_run, as_json = switches
            with pytest.raises(InvalidInput) as caught:
                connect(["all"], yes=yes, by_hand=by_hand, dry_run=dry_run, as_json=as_json)
            assert SECRET not in str(caught.value)
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "")
    assert contents(home) == before


@pytest.mark.parametrize(
    "words", [["url"], ["url", "--owner"], ["upgrade", "--plan"], ["connect", "--print"]]
)
def test_every_command_tells_an_address_with_an_open_bracket_alike(
    environment: dict[str, str], words: list[str]
) -> None:
    environment["DATABASE_URL"] = REFUSED[3]
    done = run(environment, *words)
    assert done.returncode == 1
    assert "(invalid_argument)" in done.stderr
    assert SECRET not in done.stdout + done.stderr


def test_an_address_with_brackets_in_its_password_or_around_its_host_is_understood() -> None:
    assert parse("postgresql://m:p%5B@[::1]:5433/memory").url.host == "::1"
    assert parse("postgresql://m:p[x@db.example/memory").url.password == "p[x"
