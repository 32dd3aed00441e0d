"""OpenCode: databases and JSON files become sessions and entries."""

from importers.opencode.importer import OpenCodeImporter

__all__ = ["OpenCodeImporter"]
