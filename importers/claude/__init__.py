"""Claude Code: its stores, its rows, and how they become entries."""

from importers.claude.importer import ClaudeImporter

__all__ = ["ClaudeImporter"]
