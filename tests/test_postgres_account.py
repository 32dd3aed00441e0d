"""Accounts and folders: root, two users, closed doors, and a disk that is full or read-only."""

import contextlib
import json
import os
import pwd
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from homes import (
    FAST,
    IS_ROOT,
    NewHome,
    copy_of,
    environment,
    free_port,
    needs_root,
    new_folder,
    postmasters,
    processes,
    service_account,
    sql,
)

from memory import postgres
from memory.errors import ServerFailure
from memory.postgres import account
from memory.postgres.home import Home
from memory.settings import SERVICE_ACCOUNT, Settings

pytest_plugins = ("home_fixtures",)

# All is imported before the account is changed: it may not be able to read this Python.
AS_USER = """
import encodings.ascii, encodings.idna
import os
from dataclasses import replace
from memory import postgres
from memory.postgres import databases, launch, roles, shutdown
from memory.settings import Settings
os.setgroups([])
os.setgid({uid})
os.setuid({uid})
settings = replace(Settings.from_environment(), port_is_pinned={pinned})
print(postgres.{call}(settings))
"""
MEGABYTE = 1024 * 1024


@needs_root
def test_roots_server_runs_as_an_account_of_its_own(running: Settings) -> None:
    uid, gid = service_account()
    for process in processes(running):
        assert set(process.uids()) == {uid}
        assert set(process.gids()) == {gid}
        status = Path(f"/proc/{process.pid}/status").read_text()
        groups = next(line for line in status.splitlines() if line.startswith("Groups:"))
        assert groups.split()[1:] in ([], [str(gid)])
    entry = pwd.getpwnam(SERVICE_ACCOUNT)
    assert entry.pw_shell.endswith("nologin")


@needs_root
def test_a_folder_the_account_cannot_reach_is_named_and_left_alone() -> None:
    closed = new_folder()
    closed.chmod(0o700)
    try:
        settings = Settings(home=closed / "deep" / "home", port=free_port())
        with pytest.raises(ServerFailure, match="MEMORY_HOME") as failed:
            postgres.ensure(settings)
        assert failed.value.code == "not_reachable"
        assert f"may not enter {closed}." in str(failed.value)
        assert stat.S_IMODE(closed.stat().st_mode) == 0o700
        assert list(closed.iterdir()) == []
    finally:
        closed.rmdir()


@needs_root
def test_folders_on_the_way_are_left_as_they_are(pattern: Settings, new_home: NewHome) -> None:
    settings = new_home("given", "home")
    given = settings.home.parent
    given.mkdir(mode=0o711)
    given.chmod(0o711)
    (given / "other").write_text("mine")
    before = {path: (path.stat().st_mode, path.stat().st_uid) for path in settings.home.parents}
    copy_of(pattern, settings)
    postgres.ensure(settings, options=FAST)
    assert {path: (path.stat().st_mode, path.stat().st_uid) for path in before} == before


@needs_root
def test_an_empty_home_that_root_made_goes_to_the_account(new_home: NewHome) -> None:
    settings = new_home()
    settings.home.mkdir(mode=0o700)
    postgres.ensure(settings, options=FAST)
    assert settings.home.stat().st_uid == service_account()[0]


@needs_root
def test_root_works_in_a_users_home_as_that_user(pattern: Settings, new_home: NewHome) -> None:
    settings = copy_of(pattern, new_home())
    user = pwd.getpwnam("nobody")
    shutil.rmtree(Home.of(settings).staged)  # links to the pattern's files
    for path in (settings.home, *settings.home.rglob("*")):
        os.chown(path, user.pw_uid, user.pw_gid, follow_symlinks=False)
    server = postgres.ensure(settings, options=FAST)
    assert psutil.Process(server.pid).uids().real == user.pw_uid


@needs_root
def test_a_home_of_an_id_without_account_is_refused(pattern: Settings, new_home: NewHome) -> None:
    settings = copy_of(pattern, new_home())
    os.chown(Home.of(settings).path, 54321, 54321)
    with pytest.raises(ServerFailure, match="54321") as failed:
        postgres.ensure(settings)
    assert failed.value.code == "no_account"


@needs_root
def test_an_id_without_account_is_told_what_to_do(new_home: NewHome) -> None:
    settings = new_home()
    settings.home.mkdir(mode=0o700)
    os.chown(settings.home, 54321, 54321)
    refused = _as_user(54321, settings, "ensure")
    assert "no line in /etc/passwd" in refused.stderr
    assert "DATABASE_URL" in refused.stderr


@needs_root
def test_a_mounted_folder_of_an_id_without_account_can_hold_a_home(
    pattern: Settings, new_home: NewHome
) -> None:
    settings = copy_of(pattern, new_home())
    os.chown(settings.home, 54321, 54321)
    settings.home.chmod(0o755)
    server = postgres.ensure(settings, options=FAST)
    assert psutil.Process(server.pid).uids().real == service_account()[0]


@needs_root
def test_programs_the_account_cannot_reach_are_said(home: Settings) -> None:
    closed = new_folder()
    folder = closed / "bin"
    folder.mkdir()
    (program,) = Home.of(home).staged.glob("*/*/*/bin/postgres")
    for name in ("postgres", "initdb"):
        (folder / name).symlink_to(program.with_name(name))
    closed.chmod(0o700)
    try:
        with pytest.raises(ServerFailure, match=f"may not enter {folder}") as failed:
            postgres.ensure(replace(home, pg_bin=str(folder)))
        assert failed.value.code == "no_binaries"
    finally:
        shutil.rmtree(closed)


@needs_root
def test_without_any_account_root_is_told_what_to_do(
    new_home: NewHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(account, "SERVICE_ACCOUNT", "no-such-account")
    monkeypatch.setattr(account, "_CREATORS", ("false",))
    monkeypatch.setattr(account, "_NOBODY", "nor-this-one")
    with pytest.raises(ServerFailure, match=r"useradd.*DATABASE_URL") as failed:
        postgres.ensure(new_home())
    assert failed.value.code == "no_account"


@needs_root
def test_a_root_that_may_not_change_its_account_is_told_so(new_home: NewHome) -> None:
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("setpriv, which takes rights from root, is not installed")
    done = subprocess.run(
        [
            *(setpriv, "--bounding-set=-setuid,-setgid", "--inh-caps=-all"),
            *(sys.executable, "-m", "memory.postgres", "start", "--json"),
        ],
        env=environment(new_home()),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    answer = json.loads(done.stdout)
    assert answer["code"] == "no_account"
    assert "CAP_SETUID" in answer["error"]


@needs_root
def test_as_a_last_resort_root_takes_nobody_and_says_so(
    new_home: NewHome, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(account, "SERVICE_ACCOUNT", "no-such-account")
    monkeypatch.setattr(account, "_CREATORS", ("false",))
    found = account.for_home(new_home().home / "pg")
    assert found.name == "nobody"
    assert "runs as nobody" in caplog.text


@needs_root
def test_an_ordinary_account_runs_its_own_server_and_keeps_others_out(new_home: NewHome) -> None:
    settings = new_home()
    uid, _ = service_account()
    settings.home.mkdir(mode=0o700)
    os.chown(settings.home, uid, uid)
    done = _as_user(uid, settings, "ensure")
    assert done.returncode == 0, done.stderr
    (pid,) = postmasters(settings)
    assert psutil.Process(pid).uids().real == uid
    assert f"pid={pid}" in done.stdout

    other = pwd.getpwnam("nobody").pw_uid
    for call in ("state", "ensure", "stop", "application_url"):
        refused = _as_user(other, settings, call)
        assert refused.returncode != 0
        assert "belongs to another account" in refused.stderr
        assert "MEMORY_HOME" in refused.stderr
    assert postmasters(settings) == [pid]


@needs_root
def test_two_users_have_two_servers_on_one_machine(new_home: NewHome) -> None:
    first, second = new_home(), new_home()
    second = replace(second, port=first.port)
    users = (service_account()[0], pwd.getpwnam("nobody").pw_uid)
    for settings, uid in zip((first, second), users, strict=True):
        settings.home.mkdir(mode=0o700)
        os.chown(settings.home, uid, uid)
        assert _as_user(uid, settings, "ensure").returncode == 0
    servers = [postgres.state(first), postgres.state(second)]
    assert None not in servers
    assert len({server.port for server in servers if server}) == 2


@pytest.mark.skipif(IS_ROOT, reason="root may write everywhere")
def test_a_home_that_may_not_be_written_is_said(new_home: NewHome) -> None:
    settings = new_home()
    settings.home.mkdir(mode=0o500)
    with pytest.raises(ServerFailure, match="MEMORY_HOME") as failed:
        postgres.ensure(settings)
    assert failed.value.code == "not_writable"


def test_a_home_that_is_a_file_is_said(new_home: NewHome) -> None:
    settings = new_home()
    settings.home.write_text("not a folder")
    assert postgres.state(settings) is None
    with pytest.raises(ServerFailure, match=str(settings.home)):
        postgres.ensure(settings)


def test_data_open_to_others_are_said(home: Settings) -> None:
    Home.of(home).data.chmod(0o755)
    with pytest.raises(ServerFailure, match="chmod 700") as failed:
        postgres.ensure(home)
    assert failed.value.code == "not_writable"


@pytest.mark.parametrize("megabytes", [2, 40])
def test_a_first_start_on_a_full_disk_says_so_and_leaves_room(megabytes: int) -> None:
    with _disk(megabytes) as disk:
        settings = Settings(home=disk / "home", port=free_port())
        with pytest.raises(ServerFailure, match=r"full.*free some space") as failed:
            postgres.ensure(settings, options=FAST)
        assert failed.value.code == "disk_full"
        assert list(disk.glob("home/pg/data*")) == []
        assert list(disk.glob("home/pg/binaries/*.tmp")) == []
        _resize(disk, 300)
        postgres.ensure(settings, options=FAST)
        assert sql(postgres.application_url(settings), "SELECT 1") == [[1]]
        postgres.stop(settings)


def test_a_later_start_on_a_full_disk_says_so_and_loses_nothing(pattern: Settings) -> None:
    with _disk(300) as disk:
        settings = Settings(home=disk / "home", port=free_port())
        home = _plain_copy(pattern, settings)
        postgres.ensure(settings, options=FAST)
        sql(postgres.owner_url(settings), "CREATE TABLE kept AS SELECT 7 AS n")
        postgres.stop(settings)
        ballast = disk / "ballast"
        with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        with pytest.raises(ServerFailure, match=r"full.*Nothing is lost") as failed:
            postgres.ensure(settings, options=FAST)
        assert failed.value.code == "disk_full"
        ballast.unlink()
        postgres.ensure(settings, options=FAST)
        assert sql(postgres.owner_url(settings), "SELECT n FROM kept") == [[7]]
        assert home.mark.exists()
        postgres.stop(settings)


def test_a_disk_that_lets_no_program_run_is_said() -> None:
    with _disk(300, "noexec") as disk:
        settings = Settings(home=disk / "home", port=free_port())
        with pytest.raises(ServerFailure, match=r"noexec.*MEMORY_HOME") as failed:
            postgres.ensure(settings)
        assert failed.value.code == "no_binaries"


def test_a_read_only_disk_is_said(pattern: Settings) -> None:
    with _disk(300) as disk:
        settings = Settings(home=disk / "home", port=free_port())
        _plain_copy(pattern, settings)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        with pytest.raises(ServerFailure, match="MEMORY_HOME") as failed:
            postgres.ensure(settings)
        assert failed.value.code == "not_writable"
        assert postgres.state(settings) is None


@contextlib.contextmanager
def _disk(megabytes: int, *more: str) -> Iterator[Path]:
    """Mount a small disk in memory."""
    folder = new_folder()
    options = ",".join((f"size={megabytes}m", "mode=755", *more))
    try:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "memory-tests", str(folder)],
            capture_output=True,
            check=False,
        )
        if mounted.returncode != 0:
            pytest.skip("only root with the right to mount can make a small disk")
        try:
            yield folder
        finally:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _resize(disk: Path, megabytes: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={megabytes}m", str(disk)], check=True)


def _plain_copy(pattern: Settings, settings: Settings) -> Home:
    subprocess.run(["cp", "-a", str(pattern.home), str(settings.home)], check=True)
    return Home.of(settings)


def _as_user(uid: int, settings: Settings, call: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", AS_USER.format(call=call, uid=uid, pinned=settings.port_is_pinned)],
        env=environment(settings),
        capture_output=True,
        text=True,
        check=False,
    )
