"""The importers as a service: one file is written, the manager is told, and no secret is in it."""

import json
import os
import plistlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from importers import installation, systemd
from importers.commands import service
from importers.daemon import PASSED, SECRETS, daemon_of
from importers.installation import Outcome, install, state, uninstall, unit_here
from importers.launchd import launchd_unit
from importers.systemd import systemd_unit
from importers.unit import Standing, Unit, standing
from memory.errors import Conflict, Credential, InvalidInput

URL = "postgresql://memory:" + "s3cr3t-" + "word" + "@db.example/memory"
USER = 1000
PROGRAM = """#!/bin/sh
printf '%s\\n' "$*" >> "{log}"
case "$*" in
    *"is-active"*|print*) test -e "{running}" ;;
    *disable*|bootout*) rm -f "{running}" ;;
    *"enable --now"*|bootstrap*) test ! -e "{broken}" || {{ echo "no bus here" >&2; exit 1; }}
        touch "{running}" ;;
esac
"""

Manager = Callable[[], list[str]]


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Give this process a user's home and an environment of its own."""
    for name in (*PASSED, "DATABASE_URL", "MEMORY_OWNER_URL"):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path / "home of a user"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("MEMORY_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(os, "geteuid", lambda: USER)
    return home


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Manager:
    """Put service managers that record what they are told before all others; return the reading."""
    folder, log = tmp_path / "programs", tmp_path / "told"
    folder.mkdir()
    text = PROGRAM.format(log=log, running=tmp_path / "running", broken=tmp_path / "broken")
    for name in ("systemctl", "launchctl"):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setattr(systemd, "_BOOTED", tmp_path)

    def told() -> list[str]:
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return [line for line in lines if "is-active" not in line and not line.startswith("print")]

    return told


def everything(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_installing_writes_one_unit_and_starts_it(home: Path, manager: Manager) -> None:
    outcome = install(unit_here())
    assert (outcome.standing, outcome.is_running, outcome.failed) == (Standing.ABSENT, True, "")
    assert everything(home) == {".config/systemd/user/shared-memory-import.service"}
    assert manager() == [
        "--user daemon-reload",
        "--user enable --now shared-memory-import.service",
    ]
    text = outcome.path.read_text()
    assert f'ExecStart="{sys.executable}" "-P" "-m" "importers" "--watch"\n' in text
    assert f'Environment="MEMORY_HOME={os.environ["MEMORY_HOME"]}"\n' in text
    assert "KillMode=process\n" in text
    assert "loginctl enable-linger" in outcome.remarks[0]


def test_installing_again_changes_nothing(home: Path, manager: Manager) -> None:
    first = install(unit_here())
    written = first.path.stat().st_mtime_ns
    manager()
    again = install(unit_here())
    assert (again.standing, again.text, again.is_running) == (Standing.CURRENT, None, True)
    assert again.path.stat().st_mtime_ns == written
    assert "--user restart shared-memory-import.service" not in manager()
    assert state(unit_here()).is_running
    assert everything(home) == {".config/systemd/user/shared-memory-import.service"}


@pytest.mark.usefixtures("home")
def test_other_settings_are_written_anew_and_take_effect(
    manager: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(unit_here())
    monkeypatch.setenv("CODEX_HOME", '/a "b" $c %d\\e')
    unit = unit_here()
    assert standing(unit) is Standing.OLDER
    manager()
    outcome = install(unit)
    assert manager()[-1] == "--user restart shared-memory-import.service"
    assert r'Environment="CODEX_HOME=/a \"b\" $c %%d\\e"' in outcome.path.read_text()


def test_uninstalling_removes_what_was_written_and_nothing_else(
    home: Path, manager: Manager
) -> None:
    neighbour = home / ".config" / "systemd" / "user" / "other.service"
    neighbour.parent.mkdir(parents=True)
    neighbour.touch()
    install(unit_here())
    manager()
    outcome = uninstall(unit_here())
    assert (outcome.standing, outcome.is_running) == (Standing.CURRENT, False)
    assert manager() == [
        "--user disable --now shared-memory-import.service",
        "--user daemon-reload",
    ]
    assert everything(home) == {".config/systemd/user/other.service"}
    again = uninstall(unit_here())
    assert (again.standing, again.commands, manager()) == (Standing.ABSENT, [], [])


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    "change",
    [
        lambda _: "[Service]\nExecStart=/bin/true\n",
        lambda text: text + "Nice=19\n",
        lambda text: text.replace("RestartSec=10", "RestartSec=5"),
        lambda _: "",
    ],
)
def test_what_is_not_ours_or_was_changed_is_left_alone(
    manager: Manager, change: Callable[[str], str]
) -> None:
    unit = unit_here()
    install(unit)
    manager()
    theirs = change(unit.path.read_text())
    unit.path.write_text(theirs)
    for act in (install, uninstall):
        with pytest.raises(Conflict, match="Move it away"):
            act(unit)
    assert (unit.path.read_text(), manager()) == (theirs, [])
    assert state(unit).standing is Standing.FOREIGN


def test_a_dry_run_shows_everything_and_does_nothing(home: Path, manager: Manager) -> None:
    outcome = install(unit_here(), dry_run=True)
    assert outcome.text == unit_here().text
    assert len(outcome.commands) == 2
    assert (everything(home), manager()) == (set(), [])
    install(unit_here())
    manager()
    assert len(uninstall(unit_here(), dry_run=True).commands) == 2
    assert unit_here().path.exists()
    assert manager() == []


@pytest.mark.usefixtures("manager")
def test_a_manager_that_refuses_is_told_and_the_unit_stays(home: Path, tmp_path: Path) -> None:
    (tmp_path / "broken").touch()
    outcome = install(unit_here())
    assert not outcome.is_running
    assert outcome.failed.endswith("enable --now shared-memory-import.service: no bus here")
    assert everything(home)
    assert service(["install"]) == 1


@pytest.mark.usefixtures("manager")
def test_without_a_manager_it_is_said_plainly(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(systemd, "_BOOTED", tmp_path / "nothing")  # systemctl alone, as in images
    assert service(["install"]) == 3
    said = capsys.readouterr().out
    assert "Nothing runs it" in said
    assert "most containers" in said
    assert everything(home), "it begins once a manager is there"
    assert service(["uninstall"]) == 0
    assert not everything(home)


@pytest.mark.usefixtures("home", "manager")
def test_the_command_line_answers_people_and_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert service(["status"]) == 3
    assert capsys.readouterr().out.startswith("not installed: ")
    assert service(["install", "--dry-run"]) == 0
    assert "would run systemctl --user daemon-reload" in capsys.readouterr().out
    assert service(["install"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[1] == "It runs."
    assert service(["status", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["standing"], answer["is_running"], answer["has_manager"]) == (
        "current",
        True,
        True,
    )
    Path(answer["path"]).write_text("theirs")
    assert service(["uninstall", "--json"]) == 1
    refused = json.loads(capsys.readouterr().out)
    assert (refused["is_error"], refused["code"]) == (True, "conflict")
    assert service(["restart"]) == 2
    assert service(["status", "--dry-run"]) == 1


def test_a_password_is_refused_until_it_is_in_a_file_of_its_own(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", URL)
    with pytest.raises(Credential) as refused:
        unit_here()
    assert "s3cr3t" not in str(refused.value)
    way = str(refused.value).partition("again: ")[2]
    subprocess.run(["sh", "-c", way], check=True, timeout=60)
    secrets = home / ".config" / SECRETS
    assert secrets.read_text() == f"DATABASE_URL={URL}\n"
    assert secrets.stat().st_mode & 0o777 == 0o600
    secrets.chmod(0o644)
    with pytest.raises(InvalidInput, match="chmod 600"):
        unit_here()
    secrets.chmod(0o600)
    monkeypatch.setattr(os, "geteuid", lambda: secrets.stat().st_uid)
    daemon = daemon_of(os.environ, home)
    unit = systemd_unit(daemon, os.environ, home, is_root=False)
    assert f"EnvironmentFile={secrets}\n" in unit.text
    assert "s3cr3t" not in unit.text
    monkeypatch.setenv("MEMORY_OWNER_URL", URL)
    with pytest.raises(Credential, match="MEMORY_OWNER_URL"):
        daemon_of(os.environ, home)


def test_an_address_without_a_password_needs_no_file(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://memory@/memory?host=/run/postgresql")
    assert "DATABASE_URL" in daemon_of(os.environ, home).environment
    monkeypatch.setenv("DATABASE_URL", "postgresql://memory@db/memory?password=" + "hidden-word")
    with pytest.raises(Credential):
        daemon_of(os.environ, home)


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("value", ["/a\nExecStart=/bin/sh", "/a\x07"])
def test_a_value_that_would_be_more_than_a_value_is_refused(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("CODEX_HOME", value)
    with pytest.raises(InvalidInput, match="CODEX_HOME"):
        unit_here()


def test_root_gets_a_unit_of_the_system(home: Path) -> None:
    unit = systemd_unit(daemon_of(os.environ, home), os.environ, home, is_root=True)
    assert unit.path == Path("/etc/systemd/system/shared-memory-import.service")
    assert unit.start[0] == ("systemctl", "daemon-reload")
    assert f'Environment="HOME={home}"\n' in unit.text
    assert "WantedBy=multi-user.target\n" in unit.text
    assert unit.remark == "", "it runs whoever is logged in"


def test_a_user_s_unit_lies_where_the_configurations_are(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "configs"))
    folder = tmp_path / "configs" / "systemd" / "user"
    assert unit_here().path == folder / "shared-memory-import.service"
    assert str(home) not in str(unit_here().path)


@pytest.mark.skipif(
    not shutil.which("systemd-analyze"), reason="systemd has a say only where it is"
)
@pytest.mark.parametrize("is_root", [False, True])
def test_systemd_itself_finds_no_fault_with_the_unit(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, is_root: bool
) -> None:
    monkeypatch.setenv("CODEX_HOME", '/a "b" $c %d\\e')
    unit = systemd_unit(daemon_of(os.environ, home), os.environ, home, is_root=is_root)
    path = tmp_path / unit.path.name
    path.write_text(unit.text)
    scope = "--system" if is_root else "--user"
    runtime = tmp_path / "runtime"
    runtime.mkdir(mode=0o700)
    done = subprocess.run(
        ["systemd-analyze", scope, "verify", "--man=no", str(path)],
        env={**os.environ, "XDG_RUNTIME_DIR": str(runtime)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    about = [line for line in done.stderr.splitlines() if path.name in line]
    assert (done.returncode, about) == (0, []), done.stderr


def agent(home: Path) -> Unit:
    return launchd_unit(daemon_of(os.environ, home), home, uid=USER)


def test_launchd_gets_a_property_list_that_says_the_same(home: Path) -> None:
    unit = agent(home)
    assert unit.path == home / "Library" / "LaunchAgents" / "shared-memory.import.plist"
    facts = plistlib.loads(unit.text.encode())
    assert facts["ProgramArguments"] == [sys.executable, "-P", "-m", "importers", "--watch"]
    assert facts["EnvironmentVariables"] == {"MEMORY_HOME": os.environ["MEMORY_HOME"]}
    assert facts["KeepAlive"] == {"SuccessfulExit": False}
    assert facts["AbandonProcessGroup"] is True
    assert launchd_unit(daemon_of(os.environ, home), home, uid=0).path == Path(
        "/Library/LaunchDaemons/shared-memory.import.plist"
    )


def test_launchd_is_told_as_it_wants_to_be(
    home: Path, manager: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(act: Callable[[Unit], Outcome]) -> list[str]:
        assert act(agent(home)).failed == ""
        return manager()

    path = agent(home).path
    domain = f"gui/{USER}"
    assert told(install) == [f"bootstrap {domain} {path}"]
    assert told(install) == [], "it runs, and as it should"
    monkeypatch.setenv("MEMORY_LEDGER", "team")
    assert told(install) == [
        f"bootout {domain}/shared-memory.import",
        f"bootstrap {domain} {path}",
    ]
    assert told(uninstall) == [f"bootout {domain}/shared-memory.import"]
    assert everything(home) == set()


def test_launchd_reads_secrets_from_their_file_as_they_are(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = home / ".config" / SECRETS
    secrets.parent.mkdir(parents=True)
    secrets.write_text("# mine\n\nDATABASE_URL=a b&c?$d;'e\"\n")
    secrets.chmod(0o600)
    monkeypatch.setattr(os, "geteuid", lambda: secrets.stat().st_uid)
    words = plistlib.loads(agent(home).text.encode())["ProgramArguments"]
    assert words[:2] == ["/bin/sh", "-c"]
    show = [sys.executable, "-c", "import os; print(os.environ['DATABASE_URL'])"]
    done = subprocess.run(
        [*words[:4], *show], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "a b&c?$d;'e\"\n"


def test_this_system_s_own_manager_is_chosen(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert unit_here().manager == "systemctl"
    monkeypatch.setattr(installation.sys, "platform", "darwin")
    assert unit_here().manager == "launchctl"
    assert unit_here().path.is_relative_to(home)


def test_root_by_sudo_is_told_whose_stores_are_read(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUDO_USER", "dev")
    unit = systemd_unit(daemon_of(os.environ, home), os.environ, home, is_root=True)
    assert "those of dev" in unit.remark
