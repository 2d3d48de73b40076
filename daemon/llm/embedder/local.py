"""all-MiniLM-L6-v2 on this machine: 8-bit ONNX, one text at a time in one thread, nothing imported before it is needed.

A text is never embedded beside another one, so nothing is padded, its vector depends on it alone, and a query waits for
one text of the background at most. See scripts/build_embedder.py for what the files hold.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from daemon.core import long_lived
from daemon.core.errors import ModelRefused
from daemon.core.ports.vectors import Unrelated
from daemon.llm.embedder.wordpiece import WordPiece

if TYPE_CHECKING:
    from daemon.core.ports.vectors import Vector

_FILES: Final = ("model.onnx", "vocab.txt")
_RECIPE: Final = 1  # to be raised with each change of the vectors of the same files
_MOST_TOKENS: Final = 256  # what the model was trained on; the rest of a text is left out
_MOST_LETTERS: Final = 4_000  # more than so many tokens have
_HINT: Final = (
    "install the daemon again, or build the files with scripts/build_embedder; SOUL_EMBEDDER=none does without"
)

_Embed = Callable[[str], "Vector"]


class LocalEmbedder:
    """See `core.ports.vectors.Embedder`; `folder` holds the model, its vocabulary and SHA256SUMS."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sums = _sums(folder)
        self._thread = ThreadPoolExecutor(1, "embedder")
        self._embed: _Embed | None = None

    @property
    def id(self) -> str:
        """See `Embedder.id`: the model's hash, of which a part will do, and the recipe."""
        return f"minilm-{self._sums.get(_FILES[0], '')[:12]}-{_RECIPE}"

    @property
    def unrelated(self) -> Unrelated:
        """See `Embedder.unrelated`: measured on questions about talk and other talk of the same people."""
        return Unrelated(0.08, 0.09)

    async def embed(self, texts: Sequence[str]) -> Sequence["Vector"]:
        """See `Embedder.embed`. Raises ModelRefused for files that are missing or damaged."""
        loop = asyncio.get_running_loop()
        return [await loop.run_in_executor(self._thread, self._one, text) for text in texts]

    async def aclose(self) -> None:
        """See `Embedder.aclose`."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _one(self, text: str) -> "Vector":
        if self._embed is None:
            self._embed = self._load()
        return self._embed(text)

    def _load(self) -> _Embed:
        """Read and check the files; runs in the thread. Raises ModelRefused."""
        try:
            raw = {name: (self._folder / name).read_bytes() for name in _FILES}
            wrong = [name for name in _FILES if sha256(raw[name]).hexdigest() != self._sums.get(name)]
            if wrong:
                raise ModelRefused(f"the embedder's {wrong[0]} is not the file that its hash names", hint=_HINT)
            return _open(raw["model.onnx"], WordPiece(raw["vocab.txt"]))
        except OSError as error:
            raise ModelRefused(f"the embedder's files can't be read: {error.strerror}", hint=_HINT) from error
        except ImportError as error:
            raise ModelRefused(f"the embedder's runtime can't be loaded: {error}", hint=_HINT) from error


def _sums(folder: Path) -> dict[str, str]:
    try:
        lines = (folder / "SHA256SUMS").read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def _open(model: bytes, words: WordPiece) -> _Embed:
    """The model with one thread of its own: the daemon's other work has the other processors."""
    import numpy as np
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # warnings go to standard error and may quote what is embedded
    options.enable_cpu_mem_arena = False  # it would keep what the longest text took
    session: Any = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    long_lived.imported()

    def embed(text: str) -> "Vector":
        tokens = np.array(words.tokens(text[:_MOST_LETTERS], _MOST_TOKENS), np.int64)
        vector: Vector = session.run(None, {"tokens": tokens})[0]
        return vector

    return embed
