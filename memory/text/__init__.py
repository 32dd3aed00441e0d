"""Text on its way in and out: cleaned for storage and display, cut into words for search."""

from memory.text.cleaning import MAX_DEPTH, clean, clean_json, displayable, rebuild

__all__ = ["MAX_DEPTH", "clean", "clean_json", "displayable", "rebuild"]
