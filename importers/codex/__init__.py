"""Codex: rollouts of every era become sessions and entries."""

from importers.codex.importer import Codex

__all__ = ["Codex"]
