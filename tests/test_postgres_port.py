"""The port: what is free for many who look at once, and what is taken by another program."""

import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from homes import free_port, let_go

from memory.errors import ServerFailure
from memory.postgres import port
from memory.postgres.home import Home
from memory.settings import Settings

LOOK = """
import sys
from pathlib import Path
from memory.postgres import port
from memory.postgres.home import Home
from memory.settings import Settings
settings = Settings(home=Path(sys.argv[1]), port=int(sys.argv[2]), port_is_pinned=True)
home = Home.of(settings)
print("ready", flush=True)
sys.stdin.readline()
for _ in range(2_000):
    port.check(home, settings)
    next(port.candidates(home, settings.port, pinned=True))
    assert next(port.candidates(home, settings.port, pinned=False)) == settings.port
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere two who look exclude each other")
def test_many_who_look_at_once_all_find_the_port_free(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LOOK, str(tmp_path / "home"), str(free_port())]
    lookers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    let_go(lookers)
    for looker in lookers:
        looker.communicate(timeout=90)
    assert [looker.returncode for looker in lookers] == [0] * 4


def test_a_port_that_is_held_for_a_moment_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = _pinned(tmp_path)
    with _listener(settings.port) as holder:
        monkeypatch.setattr("memory.postgres.port.time.sleep", lambda _: holder.close())
        port.check(Home.of(settings), settings)


def test_a_port_that_another_program_keeps_is_taken(tmp_path: Path) -> None:
    settings = _pinned(tmp_path)
    home = Home.of(settings)
    with _listener(settings.port):
        with pytest.raises(ServerFailure) as checked:
            port.check(home, settings)
        with pytest.raises(ServerFailure) as offered:
            next(port.candidates(home, settings.port, pinned=True))
        other = next(port.candidates(home, settings.port, pinned=False))
    assert (checked.value.code, offered.value.code) == ("port_taken", "port_taken")
    assert other != settings.port


def test_a_port_that_the_server_of_this_home_has_is_not_taken(tmp_path: Path) -> None:
    settings = _pinned(tmp_path)
    home = Home.of(settings)
    home.pid_file.parent.mkdir(parents=True)
    home.pid_file.write_text(f"1\n{home.pid_file.parent}\n0\n{settings.port}\n", "utf-8")
    with _listener(settings.port):
        port.check(home, settings)


def _pinned(folder: Path) -> Settings:
    return replace(Settings(home=folder / "home", port=free_port()), port_is_pinned=True)


def _listener(number: int) -> socket.socket:
    listener = socket.socket()
    listener.bind(("127.0.0.1", number))
    listener.listen(1)
    return listener
