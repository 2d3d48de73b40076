"""The tokens of a text as BERT's uncased models were trained on them: basic tokens, then WordPiece.

In Python, because the usual library holds the interpreter's lock while it reads its vocabulary, and with it the event
loop. (Devlin et al. 2019; the same tokens as the tokenizers library gives, which a test compares.)
"""

import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

_UNKNOWN, _BEGIN, _END = "[UNK]", "[CLS]", "[SEP]"
_LONGEST_WORD: Final = 100  # letters; a longer one is unknown
_CHINESE: Final = (
    *((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F)),
    *((0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)),
)


class WordPiece:
    """Tokens by a vocabulary: the words in the order of their numbers, a line each."""

    def __init__(self, vocabulary: bytes) -> None:
        words = vocabulary.decode("utf-8").splitlines()
        self._numbers: Mapping[str, int] = {word: number for number, word in enumerate(words)}

    def tokens(self, text: str, most: int) -> list[int]:
        """The numbers of a text's tokens between the two marks, at most so many in all."""
        numbers = self._numbers
        found = [numbers[_BEGIN]]
        for word in _words(text):
            found += self._pieces(word)
            if len(found) >= most:
                break
        return [*found[: most - 1], numbers[_END]]

    def _pieces(self, word: str) -> list[int]:
        """The longest pieces from the left that the vocabulary has; unknown as a whole where one is missing."""
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
    """Words and single marks, in lower case and without accents."""
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
