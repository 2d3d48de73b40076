"""The worker process of the local embedder: it receives texts, returns their vectors and stores nothing."""

import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from hashlib import file_digest
from pathlib import Path
from typing import Any, Final

from daemon.core.secrecy import close_process
from daemon.core.workers import serve

_UNKNOWN, _BEGIN, _END = "[UNK]", "[CLS]", "[SEP]"
_LONGEST_WORD: Final = 100  # letters; a longer word is unknown
_CHINESE: Final = (
    *((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F)),
    *((0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)),
)


class WordPiece:
    """The tokenizer of a vocabulary, whose lines are the words in the order of their numbers."""

    def __init__(self, vocabulary: bytes) -> None:
        words = vocabulary.decode("utf-8").splitlines()
        self._numbers: Mapping[str, int] = {word: number for number, word in enumerate(words)}

    def tokens(self, text: str, most: int) -> list[int]:
        """Return the numbers of a text's tokens between the begin and end marks, at most `most` in all."""
        numbers = self._numbers
        found = [numbers[_BEGIN]]
        for word in _words(text):
            found += self._pieces(word)
            if len(found) >= most:
                break
        return [*found[: most - 1], numbers[_END]]

    def _pieces(self, word: str) -> list[int]:
        """Return the longest pieces from the left that the vocabulary has, or unknown if one is missing."""
        unknown = [self._numbers[_UNKNOWN]]
        if len(word) > _LONGEST_WORD:
            return unknown
        pieces: list[int] = []
        start = 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = f"##{word[start:end]}" if start else word[start:end]
                if (number := self._numbers.get(piece)) is not None:
                    pieces.append(number)
                    start = end
                    break
            else:
                return unknown
        return pieces


def _words(text: str) -> Iterator[str]:
    """Yield words and single marks, in lower case and without accents."""
    spaced = "".join(f" {letter} " if _is_chinese(letter) else letter for letter in _clean(text))
    plain = "".join(letter for letter in unicodedata.normalize("NFD", spaced) if unicodedata.category(letter) != "Mn")
    for word in plain.lower().split():
        begun = 0
        for place, letter in enumerate(word):
            if _is_mark(letter):
                if begun < place:
                    yield word[begun:place]
                yield letter
                begun = place + 1
        if begun < len(word):
            yield word[begun:]


def _clean(text: str) -> Iterator[str]:
    for letter in text:
        if _is_space(letter):
            yield " "
        elif letter not in "\0\ufffd" and not _is_control(letter):
            yield letter


@cache
def _is_space(letter: str) -> bool:
    return letter in "\t\n\r" or unicodedata.category(letter) == "Zs"


@cache
def _is_control(letter: str) -> bool:
    return unicodedata.category(letter) in ("Cc", "Cf", "Co", "Cs")


@cache
def _is_mark(letter: str) -> bool:
    ascii_marks = letter.isascii() and not letter.isalnum() and letter.isprintable() and letter != " "
    return ascii_marks or unicodedata.category(letter).startswith("P")


@cache
def _is_chinese(letter: str) -> bool:
    return any(first <= ord(letter) <= last for first, last in _CHINESE)


FILES: Final = ("model.onnx", "vocab.txt")
_MOST_TOKENS: Final = 256  # the model's training length; the rest of a text is left out
_IDLE_S: Final = 900.0  # then its memory is worth more than the third of a second of a new start


def main() -> None:
    """Serve the model of the folder that is the first argument. The others are the hashes of its files."""
    close_process()
    serve(_begin, idle_s=_IDLE_S)


def _begin() -> Callable[[str], bytes]:
    """Load the model with one thread, which leaves the other cores to the daemon. Raises OSError, ValueError."""
    import numpy as np
    import onnxruntime

    model, vocabulary = (Path(sys.argv[1]) / name for name in FILES)
    for path, wanted in zip((model, vocabulary), sys.argv[2:], strict=True):
        with path.open("rb") as file:
            if file_digest(file, "sha256").hexdigest() != wanted:
                raise ValueError(f"{path.name} is not the file that its hash names")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # warnings go to standard error and may quote embedded texts
    options.enable_cpu_mem_arena = False  # else it keeps the memory of the longest text
    # By its path: from bytes, the weights would be in memory twice.
    session: Any = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    words = WordPiece(vocabulary.read_bytes())

    def embed(text: str) -> bytes:
        vector: bytes = session.run(None, {"tokens": np.array(words.tokens(text, _MOST_TOKENS), np.int64)})[0].tobytes()
        return vector

    return embed
