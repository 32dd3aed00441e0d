"""Text on its way in and out: cleaned for storage and display, cut into words for search."""

from memory.text.cleaning import MAX_DEPTH, clean, clean_json, displayable, is_storable, rebuild
from memory.text.folding import fold, normalised
from memory.text.queries import MAX_LEXEMES, MAX_PHRASES, MAX_QUERY_CHARS, Query, query
from memory.text.snippets import snippet
from memory.text.tokeniser import MAX_CHARS, MAX_TOKENS, Tokens, tokens

__all__ = [
    "MAX_CHARS",
    "MAX_DEPTH",
    "MAX_LEXEMES",
    "MAX_PHRASES",
    "MAX_QUERY_CHARS",
    "MAX_TOKENS",
    "Query",
    "Tokens",
    "clean",
    "clean_json",
    "displayable",
    "fold",
    "is_storable",
    "normalised",
    "query",
    "rebuild",
    "snippet",
    "tokens",
]
