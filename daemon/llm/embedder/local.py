"""all-MiniLM-L6-v2 on this machine: 8-bit ONNX, one text at a time, in a process that begins with the first text.

A text is never embedded beside another one, so nothing is padded, its vector depends on it alone, and a query waits for
one text of the background at most. See scripts/build_embedder.py for what the files hold.
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final

from daemon.core.errors import ModelRefused, ModelUnavailable
from daemon.core.ports.vectors import Unrelated
from daemon.core.workers import WorkerFailed, WorkerProcess, WorkerRefused
from daemon.llm.embedder.minilm_worker import FILES

if TYPE_CHECKING:
    from daemon.core.ports.vectors import Vector

_PROGRAM: Final = "daemon.llm.embedder.minilm_worker"
_RECIPE: Final = 1  # to be raised with each change of the vectors of the same files
_MOST_LETTERS: Final = 4_000  # more than so many tokens have
_HINT: Final = (
    "install the daemon again, or build the files with scripts/build_embedder; SOUL_EMBEDDER=none does without"
)
_TRY_AGAIN: Final = "it is tried again by itself; full text serves meanwhile"


class LocalEmbedder:
    """See `core.ports.vectors.Embedder`; `folder` holds the model, its vocabulary and SHA256SUMS."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sums = _sums(folder)
        self._thread = ThreadPoolExecutor(1, "embedder")
        self._process: WorkerProcess | None = None
        self._closed = False

    @property
    def id(self) -> str:
        """See `Embedder.id`: the model's hash, of which a part will do, and the recipe."""
        return f"minilm-{self._sums.get(FILES[0], '')[:12]}-{_RECIPE}"

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
        self._closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._process is not None:
            self._process.kill()

    def _one(self, text: str) -> "Vector":
        import numpy as np

        try:
            answer = self._answer(text[:_MOST_LETTERS])
        except WorkerRefused as error:
            raise ModelRefused(f"the embedder's model can't be used: {error}", hint=_HINT) from error
        except WorkerFailed as error:
            raise ModelUnavailable(f"the embedder failed: {error}", hint=_TRY_AGAIN) from error
        assert isinstance(answer, bytes)
        return np.frombuffer(answer, np.float32)

    def _answer(self, text: str) -> object:
        """What the process says; one that has ended, as it does when it is idle, is begun anew once."""
        if self._process is not None:
            try:
                return self._process.ask(text)
            except WorkerFailed as error:
                if self._closed or isinstance(error, WorkerRefused):
                    raise
        self._process = WorkerProcess(_PROGRAM, str(self._folder), *(self._sums.get(one, "") for one in FILES), env={})
        if self._closed:  # meanwhile, by one who saw no process to end
            self._process.kill()
        return self._process.ask(text)


def _sums(folder: Path) -> dict[str, str]:
    try:
        lines = (folder / "SHA256SUMS").read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
