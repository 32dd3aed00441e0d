"""What an embedding model is to the rest of the program, and how the chosen one is loaded."""

from collections.abc import Sequence
from functools import cache
from typing import Protocol

from memory.settings import Settings

__all__ = ["Embedder", "load"]


class Embedder(Protocol):
    """A model that turns texts into vectors; the same text always into the same."""

    @property
    def name(self) -> str:
        """The model's name, stored beside each vector it made."""
        ...

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector of length 1 a text, of `memory.models.VECTOR_DIMENSIONS` numbers."""
        ...


@cache
def load(settings: Settings) -> Embedder | None:
    """Return the embedder that the settings ask for, or None when embeddings are off.

    Takes about a third of a second and 250 MB of memory, once a process. Raises Unavailable (``no_embeddings``)
    when the model or a library that runs it is missing or is another one than expected.
    """
    if not settings.use_embeddings:
        return None
    # Whoever leaves embeddings off needs neither the libraries nor the time to load them.
    from memory.embeddings.minilm import MiniLM  # noqa: PLC0415

    return MiniLM.load()
