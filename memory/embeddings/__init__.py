"""Sentences as vectors, by a local model; off unless MEMORY_USE_EMBEDDINGS is on.

Importing this package loads no model and none of the libraries that run one.
"""

from memory.embeddings.embedder import Embedder, load

__all__ = ["Embedder", "load"]
