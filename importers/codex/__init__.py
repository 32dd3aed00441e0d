"""Codex: rollouts of every era become sessions and entries."""

from importers.codex.importer import CodexImporter

__all__ = ["CodexImporter"]
