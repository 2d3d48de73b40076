"""Whether words speak of a topic that is waited for: by the words alone, in any language, without a model.

A topic is a few words. It is looked up by two of them, the longest, so that a message is held against those topics
alone that share one of these with it, however many topics there are.
"""

from collections.abc import Collection, Iterable
from typing import Final

from daemon.core.words import LONGEST_STEM, SHORTEST_STEM, Term, likeness, terms_of, words_of

LONGEST_TOPIC: Final = 80
"""Characters of a topic."""

ALIKE: Final = 0.7
"""How surely a word has to be a form of another, see `words.likeness`."""

_MOST_TERMS: Final = 5  # telling words of a topic
_ANCHORS: Final = 2  # of them are looked up; where one word may be missing, one of any two is there
_ALL_OF: Final = 2  # so many words have to be there all; of more, one may be missing
_LOOKED_AT: Final = 4_000  # characters of a message
_MOST_WORDS: Final = 400  # different ones of a message


def terms_of_topic(topic: str) -> tuple[Term, ...]:
    """The telling words of a topic, the longest first; none where it says nothing to wait for."""
    terms = sorted(terms_of(topic[:LONGEST_TOPIC]), key=lambda term: -len(term.word))
    return tuple(terms[:_MOST_TERMS])


def keys_of_topic(topic: str) -> frozenset[str]:
    """The words by which a topic is looked up."""
    return frozenset(term.stem or term.word for term in terms_of_topic(topic)[:_ANCHORS])


def keys_of_words(words: Iterable[str]) -> frozenset[str]:
    """The words by which a message finds the topics that it may speak of: its own, and their beginnings."""
    beginnings = range(SHORTEST_STEM, LONGEST_STEM + 1)
    return frozenset(key for word in words for key in (word, *(word[:length] for length in beginnings)))


def words_heard(text: str) -> frozenset[str]:
    """The words of a message that count, as `words_of` writes them."""
    return frozenset(list(dict.fromkeys(words_of(text[:_LOOKED_AT])))[:_MOST_WORDS])


def speaks_of(topic: str, words: Collection[str]) -> bool:
    """Whether words speak of a topic: each telling word is among them in some form, of three or more all but one."""
    terms = terms_of_topic(topic)
    held = sum(any(likeness(term, word) >= ALIKE for word in words) for term in terms)
    return bool(terms) and held >= (len(terms) if len(terms) <= _ALL_OF else len(terms) - 1)


def stands_in(topic: str, texts: Iterable[str]) -> bool:
    """Whether each telling word of a topic was really said, in some form."""
    said = {word for text in texts for word in words_of(text)}
    terms = terms_of_topic(topic)
    return bool(terms) and all(any(likeness(term, word) >= ALIKE for word in said) for term in terms)


def shares_words(text: str, words: Collection[str], keys: Collection[str]) -> bool:
    """Whether any telling word of a text is among words in some form; `keys` are theirs, as `keys_of_words` gives them.

    Very short words and bare numbers tell nothing here.
    """
    terms = (term for term in terms_of(text) if _says_something(term.word) and (term.stem or term.word) in keys)
    return any(likeness(term, word) >= ALIKE for term in terms for word in words)


def _says_something(word: str) -> bool:
    return (len(word) >= SHORTEST_STEM or not word.isascii()) and not word.isdigit()
