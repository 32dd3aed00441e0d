"""Installing the importers as a service: ``memory-import service install|uninstall|status``.

Nothing is written but the unit, and nothing is removed but a unit as we wrote it.
"""

import os
import secrets
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from importers.daemon import daemon_of
from importers.launchd import launchd_unit
from importers.systemd import systemd_unit
from importers.unit import Command, Standing, Unit, standing
from memory.cli.output import Json, one_line, print_json, say
from memory.errors import Conflict, InvalidInput

__all__ = ["Action", "Outcome", "install", "service_command", "state", "uninstall", "unit_here"]

_NOT_RUNNING: Final = 3  # as of `memory pg status`
_FAILED: Final = 1
_PATIENCE: Final = 60.0  # seconds that a service manager may take
_UNIT_MODE: Final = 0o644


class Action(StrEnum):
    """What is to be done with the service."""

    INSTALL = "install"
    UNINSTALL = "uninstall"
    STATUS = "status"


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What was done, or with ``dry_run`` would be: the commands in their order, and remarks.

    ``standing`` is what stood at the unit's place before; ``failed`` the first command that did
    not succeed, with what it said; ``has_manager`` whether the service manager is there at all.
    """

    action: Action
    path: Path
    standing: Standing
    dry_run: bool = False
    text: str | None = None
    commands: list[Command] = field(default_factory=list)
    has_manager: bool = True
    is_running: bool = False
    failed: str = ""
    remarks: list[str] = field(default_factory=list)

    def facts(self) -> dict[str, Any]:
        """Return this, JSON-safe."""
        return {
            "action": str(self.action),
            "path": str(self.path),
            "standing": str(self.standing),
            "dry_run": self.dry_run,
            "text": self.text,
            "commands": [list(command) for command in self.commands],
            "has_manager": self.has_manager,
            "is_running": self.is_running,
            "failed": self.failed or None,
            "remarks": self.remarks,
        }


def unit_here() -> Unit:
    """Return the unit for this account and this system's service manager.

    Raises InvalidInput, and Credential for a password that the unit would hold.
    """
    environment, home, uid = os.environ, Path.home(), os.geteuid()
    daemon = daemon_of(environment, home)
    if sys.platform == "darwin":
        return launchd_unit(daemon, home, uid=uid)
    return systemd_unit(daemon, environment, home, is_root=uid == 0)


def install(unit: Unit, *, dry_run: bool = False) -> Outcome:
    """Write the unit and start the service; doing it again changes nothing that is right already.

    Raises Conflict when something stands there that we did not write. Raises OSError.
    """
    before = _checked(unit)
    outcome = Outcome(action=Action.INSTALL, path=unit.path, standing=before, dry_run=dry_run)
    if unit.remark:
        outcome.remarks.append(unit.remark)
    if before is not Standing.CURRENT:
        outcome.text = unit.text
        if not dry_run:
            _write(unit)
    if not dry_run and _runs(unit):
        _call(outcome, unit, *unit.notice, *(unit.restart if before is Standing.OLDER else ()))
    else:
        _call(outcome, unit, *unit.start)
    outcome.is_running = not dry_run and _runs(unit)
    return outcome


def uninstall(unit: Unit, *, dry_run: bool = False) -> Outcome:
    """Stop the service and remove the unit. Raises Conflict as `install` does. Raises OSError."""
    before = _checked(unit)
    outcome = Outcome(action=Action.UNINSTALL, path=unit.path, standing=before, dry_run=dry_run)
    if before is Standing.ABSENT:
        return outcome
    _call(outcome, unit, *unit.stop)
    if not dry_run:
        unit.path.unlink(missing_ok=True)
    _call(outcome, unit, *unit.forget)
    outcome.is_running = not dry_run and _runs(unit)
    return outcome


def state(unit: Unit) -> Outcome:
    """Tell whether the unit is there and the service runs; nothing is changed."""
    outcome = Outcome(action=Action.STATUS, path=unit.path, standing=standing(unit))
    outcome.has_manager = _has(unit)
    outcome.is_running = outcome.standing is not Standing.ABSENT and _runs(unit)
    if unit.remark:
        outcome.remarks.append(unit.remark)
    return outcome


def service_command(
    action: Annotated[Action, typer.Argument(help="What to do.", show_default=False)],
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Have systemd or launchd run the importers, or see how that is.

    Exit status: 0 done, 1 the service manager refused, 3 (status, install) the service does not run.
    """
    unit = unit_here()
    if action is Action.STATUS:
        if dry_run:
            raise InvalidInput("status changes nothing: leave --dry-run out.")
        outcome = state(unit)
    else:
        outcome = (install if action is Action.INSTALL else uninstall)(unit, dry_run=dry_run)
    if as_json:
        facts = outcome.facts()
        if outcome.failed:
            wrong = {"is_error": True, "code": "service_failed", "error": outcome.failed}
            facts = {**wrong, **facts}
        print_json(facts)
    else:
        _show(outcome, unit)
    if outcome.failed:
        raise typer.Exit(_FAILED)
    if action is not Action.UNINSTALL and not outcome.is_running and not dry_run:
        raise typer.Exit(_NOT_RUNNING)


def _checked(unit: Unit) -> Standing:
    found = standing(unit)
    if found is Standing.FOREIGN:
        raise Conflict(
            f"{unit.path} was not written by this program, or was changed since: it is left as it"
            " is. Move it away, then call again."
        )
    return found


def _write(unit: Unit) -> None:
    unit.path.parent.mkdir(parents=True, exist_ok=True)
    draft = unit.path.with_name(f".{unit.path.name}.{secrets.token_hex(4)}.tmp")
    try:
        draft.write_text(unit.text, "utf-8")
        draft.chmod(_UNIT_MODE)
        draft.replace(unit.path)
    finally:
        draft.unlink(missing_ok=True)


def _has(unit: Unit) -> bool:
    is_at_work = unit.sign is None or unit.sign.exists()
    return is_at_work and shutil.which(unit.manager) is not None


def _runs(unit: Unit) -> bool:
    return _has(unit) and _run(unit.is_active).returncode == 0


def _call(outcome: Outcome, unit: Unit, *commands: Command) -> None:
    """Run commands up to the first that fails; only name them in a dry run."""
    outcome.has_manager = _has(unit)
    for command in commands:
        outcome.commands.append(command)
        if outcome.dry_run or not outcome.has_manager or outcome.failed:
            continue
        done = _run(command)
        if done.returncode:
            said = one_line(done.stderr or done.stdout) or f"exit status {done.returncode}"
            outcome.failed = f"{' '.join(command)}: {said}"


def _run(command: Command) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(  # noqa: S603 - the unit's own fixed command lines
            command, capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(command, _FAILED, "", str(error))


def _show(outcome: Outcome, unit: Unit) -> None:
    for line in _told(outcome, unit):
        say(line)


def _told(outcome: Outcome, unit: Unit) -> list[str]:
    lines = [f"{_DONE[outcome.action, outcome.standing]}: {outcome.path}"]
    if outcome.dry_run:
        lines = [f"would {outcome.action} {outcome.path} ({outcome.standing})"]
        lines += [f"  {line}" for line in (outcome.text or "").splitlines()]
        return lines + [f"would run {' '.join(command)}" for command in outcome.commands]
    if outcome.action is Action.UNINSTALL:
        return [*lines, *([f"FAILED {outcome.failed}"] if outcome.failed else [])]
    if not outcome.has_manager:
        lines.append(
            f"Nothing runs it: {unit.manager} has nobody to talk to here, as in most containers."
            " Run `memory watch` by other means."
        )
    elif outcome.failed:
        lines.append(f"FAILED {outcome.failed}")
    else:
        lines.append("It runs." if outcome.is_running else "It does not run.")
    return lines + (outcome.remarks if outcome.has_manager else [])


_DONE: Final = {
    (Action.INSTALL, Standing.ABSENT): "written",
    (Action.INSTALL, Standing.OLDER): "written anew",
    (Action.INSTALL, Standing.CURRENT): "there already",
    (Action.UNINSTALL, Standing.ABSENT): "nothing to remove",
    (Action.UNINSTALL, Standing.OLDER): "removed",
    (Action.UNINSTALL, Standing.CURRENT): "removed",
    (Action.STATUS, Standing.ABSENT): "not installed",
    (Action.STATUS, Standing.OLDER): "installed with other settings than the environment's now",
    (Action.STATUS, Standing.CURRENT): "installed",
    (Action.STATUS, Standing.FOREIGN): "somebody else's, or changed since it was written",
}
