"""The doctor's line about processes that still run what this program was before an update."""

import os
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Final

import psutil  # type: ignore[import-untyped]  # it ships no types

import memory
from memory.cli.checks import Check
from memory.settings import Settings

__all__ = ["skew_checks"]

_PACKAGES: Final = ("memory", "importers")
_SERVER: Final = "memory.mcp_server"


def skew_checks(_settings: Settings) -> Iterator[Check]:
    """Yield whether the running importers and servers are as new as the files of this program."""
    changed = _changed_at()
    servers, importers, old_servers, old_importers = 0, 0, 0, list[int]()
    for process, words in _ours():
        is_old = process.create_time() < changed
        if _SERVER in words:
            servers += 1
            old_servers += is_old
        elif _is_importer(words):
            importers += 1
            old_importers += [process.pid] if is_old else []
    detail = f"version {version('shared-memory')}; {importers} importers and {servers} servers run"
    if old_servers:
        detail += f", {old_servers} of the servers since before the update, until their windows end"
    if old_importers:
        named = ", ".join(map(str, old_importers))
        detail += f"; process {named} runs what was there before the update"
    yield Check(
        "versions",
        ok=not old_importers,
        detail=detail,
        remedy="Stop the importer (Ctrl-C, or your service), and start it again: memory watch",
    )


def _ours() -> Iterator[tuple[psutil.Process, list[str]]]:
    """Yield this account's processes that were started from this installation."""
    folder = str(Path(sys.executable).parent)
    for process in psutil.process_iter():
        try:
            words = process.cmdline()
            is_ours = any(word.startswith(f"{folder}/") for word in words[:2])
            if is_ours and process.uids().real == os.getuid() and process.pid != os.getpid():
                yield process, words
        except psutil.Error:  # it has ended, or is somebody else's
            continue


def _is_importer(words: list[str]) -> bool:
    """Return whether a command line goes on importing."""
    is_program = any(word == "importers" or word.endswith("/memory-import") for word in words)
    if is_program:
        return "--watch" in words
    names = [word.rpartition("/")[2] for word in words]
    is_memory = any(each in {"memory", "memory.cli"} for each in names[:4])
    return is_memory and ("watch" in words or {"import", "--watch"} <= set(words))


def _changed_at() -> float:
    """Return when a file of this program was changed last, in seconds since 1970."""
    root = Path(memory.__file__).resolve().parent.parent
    files = (file for name in _PACKAGES for file in (root / name).rglob("*.py"))
    return max((file.stat().st_mtime for file in files), default=0.0)
