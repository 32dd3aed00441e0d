"""What the programs say about an error that nobody foresaw: one line or one object, no traceback."""

import json
from typing import Any

import pytest

from importers import cli as importing
from importers.options import Options
from memory.cli import app
from memory.errors import NotFound

SECRET = "what no screen should show"


def fail(*_: object, **__: object) -> None:
    raise ZeroDivisionError(SECRET) from KeyError(SECRET)


@pytest.fixture(params=["memory", "memory-import"])
def program(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a program that fails: it takes whether to answer as JSON."""
    if request.param == "memory":
        monkeypatch.setattr(app, "_group", fail)
        return lambda as_json: app.run(["status", *(["--json"] if as_json else [])])
    monkeypatch.setattr(importing, "_run", fail)
    return lambda as_json: importing.run(Options(as_json=as_json))


def test_an_error_that_nobody_foresaw_is_one_line(
    program: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program(as_json=False) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "ZeroDivisionError" in err
    assert err.endswith("(internal)\n")
    assert SECRET not in err


def test_an_error_that_nobody_foresaw_is_one_object_as_json(
    program: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program(as_json=True) == 1
    out, err = capsys.readouterr()
    answer = json.loads(out)
    assert list(answer) == ["is_error", "code", "error"]
    assert (answer["is_error"], answer["code"]) == (True, "internal")
    assert "MEMORY_LOG_LEVEL=DEBUG" in answer["error"]
    assert SECRET not in out + err


def test_where_it_arose_is_shown_when_asked_for_and_its_text_never_is(
    program: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORY_LOG_LEVEL", "debug")
    assert program(as_json=True) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["code"] == "internal"
    assert "failed with ZeroDivisionError" in err
    assert "test_cli_faults.py" in err
    assert SECRET not in out + err


def test_errors_of_the_ledger_and_the_system_keep_their_codes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for error, code in [(NotFound("No such thing."), "not_found"), (OSError("No disk"), "system")]:

        def failing(*_: object, error: Exception = error) -> None:
            raise error

        monkeypatch.setattr(app, "_group", failing)
        monkeypatch.setattr(importing, "_run", failing)
        assert (app.run(["status"]), importing.run(Options())) == (1, 1)
        assert capsys.readouterr().err.count(f"({code})\n") == 2
