"""The process that holds the local embedder's model: texts in, their vectors out, nothing kept."""

import sys
from collections.abc import Callable
from hashlib import file_digest
from pathlib import Path
from typing import Any, Final

from daemon.core.secrecy import close_process
from daemon.core.workers import serve
from daemon.llm.embedder.wordpiece import WordPiece

FILES: Final = ("model.onnx", "vocab.txt")
_MOST_TOKENS: Final = 256  # what the model was trained on; the rest of a text is left out
_IDLE_S: Final = 900.0  # then its memory is worth more than the third of a second in which it begins anew


def main() -> None:
    """Serve the model of the folder that is the first argument; the others are the hashes of its files."""
    close_process()
    serve(_begin, idle_s=_IDLE_S)


def _begin() -> Callable[[str], bytes]:
    """The model with one thread: the daemon's other work has the other processors. Raises OSError, ValueError."""
    import numpy as np
    import onnxruntime

    model, vocabulary = (Path(sys.argv[1]) / name for name in FILES)
    for path, wanted in zip((model, vocabulary), sys.argv[2:], strict=True):
        with path.open("rb") as file:
            if file_digest(file, "sha256").hexdigest() != wanted:
                raise ValueError(f"{path.name} is not the file that its hash names")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # warnings go to standard error and may quote what is embedded
    options.enable_cpu_mem_arena = False  # it would keep what the longest text took
    # By its path: from bytes, the weights would lie in memory twice.
    session: Any = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    words = WordPiece(vocabulary.read_bytes())

    def embed(text: str) -> bytes:
        vector: bytes = session.run(None, {"tokens": np.array(words.tokens(text, _MOST_TOKENS), np.int64)})[0].tobytes()
        return vector

    return embed
