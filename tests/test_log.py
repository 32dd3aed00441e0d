"""What reaches standard error: never a secret, whatever fails and whatever level is asked for."""

import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from mcp_process import ERAS, Server

from memory import log
from memory.settings import Settings
from memory.tools import Caller, Toolbox, toolbox

SECRET = "sk-ant-" + "api03-" + "Zq7" * 31
CALLER = Caller(client="claude")


@pytest.fixture(autouse=True)
def _loggers() -> Iterator[None]:
    """Leave logging as it was."""
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    yield
    root.handlers[:] = before
    root.setLevel(level)


@pytest.mark.parametrize("level", ["WARNING", "DEBUG"])
@pytest.mark.parametrize("tool", ["record_fact", "list_projects"])
async def test_an_unexpected_errors_text_never_reaches_a_log_or_an_answer(
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    level: str,
    tool: str,
) -> None:
    async def fail(*_: Any) -> Any:
        message = f"while handling {SECRET}"
        raise ZeroDivisionError(message) from KeyError(SECRET)

    broken = {**toolbox._BY_NAME, tool: replace(toolbox._BY_NAME[tool], run=fail)}
    monkeypatch.setattr(toolbox, "_BY_NAME", broken)
    log.configure(level)
    tools = Toolbox(settings)
    given = {"key": "k", "value": "v"} if tool == "record_fact" else {}
    answer = await tools.call(tool, given, CALLER)
    await tools.close()
    out, err = capsys.readouterr()
    assert json.loads(answer)["code"] == "internal"
    assert f"{tool} failed with ZeroDivisionError" in err
    assert "test_log.py" in err, "where it arose is told"
    assert SECRET not in answer + out + err


@pytest.mark.parametrize("era", ERAS)
async def test_a_refused_secret_never_reaches_the_log_of_a_server_at_debug(
    environment: dict[str, str], era: str
) -> None:
    async with Server({**environment, "MEMORY_LOG_LEVEL": "DEBUG"}, era=era) as server:
        await server.open()
        refused = await server.call("record_fact", key="token", value=SECRET)
        assert refused["code"] == "credential"
        unknown = await server.call("record_fact", **{SECRET: "x"})
        assert unknown["code"] == "invalid_argument"
        nowhere = await server.call(SECRET)
        assert nowhere["code"] == "unknown_tool"
        found = await server.call("search_history", query=SECRET)
        assert found["is_error"] in {True, False}
    assert SECRET.encode() not in server.errors
    assert SECRET.encode() not in b"".join(server.lines)
