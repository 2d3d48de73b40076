"""Finds the memories that support each sentence of a reply: those that it cites, else those with the same content."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from daemon.core.value import Value
from daemon.core.words import LISTS, SHORTEST_STEM, Segment, Term, likeness, spans_of, terms_of, words_of

MOST_MEMORIES: Final = 3
"""The most memories that are named for a sentence without citations."""

_ALIKE: Final = 0.5  # likeness above which two words may be forms of one
_NAMED: Final = 1.5  # weight of a name, known by its capital inside a sentence
_NUMBER: Final = 2.0
_LITTLE: Final = 0.4  # weight of a word that says little
_EVERYWHERE: Final = 0.5  # the share of its weight that a word in all memories keeps
_COSINE: Final = 0.55  # the least cosine of a sentence and a memory with the same content
_MOST_WORDS: Final = 400  # of one memory

_SAYS_LITTLE: Final = frozenset(LISTS["small_talk"]["little"].split())


class Bearer(Value):
    """A memory that surfaced to a reply: its id, its citation marks, and its words with its quotations."""

    id: str
    marks: str
    text: str


class Borne(Value):
    """A sentence and the ids of the memories that support it, the surest first. `cited`: the reply cites them.

    `other_marks` are the marks of the sentence that cite no memory.
    """

    text: str
    memories: tuple[str, ...]
    cited: bool = False
    other_marks: tuple[str, ...] = ()


def borne(
    said: Sequence[Segment],
    memories: Sequence[Bearer],
    cosines: Sequence[Mapping[str, float]] = (),
    names: Collection[str] = (),
) -> tuple[Borne, ...]:
    """Return each sentence with the memories that support it, without a model. The same input gives the same answer.

    `cosines` holds for each sentence the cosines with memories, by id. `names` are those of the speakers. An address by
    name counts nothing.
    """
    by_mark = {mark: one.id for one in memories for mark in one.marks.split()}
    shared = _Shared(memories, names)
    found = []
    for place, segment in enumerate(said):
        cited = tuple(dict.fromkeys(by_mark[mark] for mark in segment.marks if mark in by_mark))
        near = cosines[place] if place < len(cosines) else {}
        others = tuple(mark for mark in segment.marks if mark not in by_mark)
        by_words = () if cited or others else shared.bearing(segment.text, near)
        found.append(Borne(segment.text, cited or by_words, bool(cited), others))
    return tuple(found)


class _Shared:
    """The word statistics of the memories, against which sentences are compared."""

    def __init__(self, memories: Sequence[Bearer], names: Collection[str]) -> None:
        self._memories = memories
        self._called = frozenset(word for name in names for word in words_of(name))
        self._words = {one.id: _by_beginning(one.text) for one in memories}
        self._names = {one.id: _names_in(one.text) for one in memories}
        self._own = {one.id: self._weights(terms_of(one.text), self._names[one.id]) for one in memories}
        self._having = Counter(word for one in self._words.values() for words in one.values() for word in words)

    def bearing(self, sentence: str, near: Mapping[str, float]) -> tuple[str, ...]:
        scores = {}
        terms, names = terms_of(sentence), _names_in(sentence)
        for one in self._memories:
            weights = self._weights(terms, names | self._names[one.id])
            cosine = near.get(one.id, 0.0)
            score = max(self._score(weights, one.id), cosine if cosine >= _COSINE else 0.0)
            if score > 0:
                scores[one.id] = score
        return tuple(sorted(scores, key=lambda name: (-scores[name], name))[:MOST_MEMORIES])

    def _score(self, weights: Mapping[Term, float], memory: str) -> float:
        """Return how surely a memory supports a sentence by its words. 0 if it does not."""
        known = self._words[memory]
        shared, same = 0.0, set[str]()
        for term, weight in weights.items():
            word, alike = _best(term, known.get(term.word[:SHORTEST_STEM], ()))
            if alike > _ALIKE:
                shared += weight * alike * self._rarity(word)
                same.add(word)
        whole = sum(weights.values())
        own = self._own[memory]
        of_memory = sum(weight for term, weight in own.items() if term.word in same)
        of_sentence, of_memory = shared / whole if whole else 0.0, of_memory / (sum(own.values()) or 1.0)
        bears = shared >= 1.4 and (  # noqa: PLR2004 - one name or number, or several words
            (shared >= 1.6 and of_sentence >= 0.25)  # noqa: PLR2004 - no small part of a sentence
            or of_sentence >= 0.6  # noqa: PLR2004 - most of a short sentence
            or of_memory >= 0.5  # noqa: PLR2004 - most of a short memory
        )
        return min(1.0, 0.5 + of_sentence / 2) if bears else 0.0

    def _weights(self, terms: Sequence[Term], names: Collection[str]) -> dict[Term, float]:
        return {one: self._weight(one.word, names) for one in terms if one.word not in self._called}

    def _weight(self, word: str, names: Collection[str]) -> float:
        if len(word) > 1 and word.isdigit():
            return _NUMBER
        if word in _SAYS_LITTLE:
            return _LITTLE
        return _NAMED if word in names else 1.0

    def _rarity(self, word: str) -> float:
        others = len(self._memories) - 1
        return 1.0 if others < 1 else 1.0 - (1.0 - _EVERYWHERE) * (self._having[word] - 1) / others


def _best(term: Term, words: Sequence[str]) -> tuple[str, float]:
    found = [(likeness(term, word), word) for word in words]
    alike, word = max(found, default=(0.0, ""))
    return word, alike


def _by_beginning(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for word in dict.fromkeys(words_of(text)[:_MOST_WORDS]):
        found.setdefault(word[:SHORTEST_STEM], []).append(word)
    return found


def _names_in(text: str) -> frozenset[str]:
    return frozenset(word for word, start, _ in spans_of(text) if start and text[start].isupper())
