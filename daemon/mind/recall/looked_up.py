"""What a search before the reply found, in the prompt's region `memories`, and its sources below the reply.

The snippets are data: words of users, of documents, or the soul's own, which prove nothing. Each has a mark by which
the reply cites it; the marks are no plain numbers, which belong to the results of autonomous work.
"""

from collections.abc import Sequence
from typing import Final

from daemon.core.fencing import NAME_CAP
from daemon.core.ports import Passage
from daemon.core.text import shortened
from daemon.core.windows import window_of_tokens
from daemon.core.words import Term, terms_of, words_of
from daemon.core.working_memory import Memory, Role, WorkingMemory, estimate_tokens
from daemon.mind.citations import Citations, listed
from daemon.soul_engine import MEMORIES

SNIPPETS: Final = 3
"""The most snippets in a prompt."""

_LEAST: Final = 2.0
"""The least fit of a snippet: one rare word in common, or a few frequent ones."""

_OF_BEST: Final = 0.4  # the share of the best snippet's fit below which another one is no help
_FEWEST_TERMS: Final = 3  # with fewer, the words before are searched for too: "and who has it?"
_HEAD: Final = """\
A search just now found these notes, which may bear on what they said or may not. Cite what you take from one by its \
mark right behind it, like [m1]; pass over the others in silence. What you said yourself proves nothing."""
_MARKS: Final = Citations(r"m\d{1,2}")


def query_of(newest: Sequence[str], before: Sequence[str]) -> str:
    """The words to search for: those of the newest messages; where they say little, of the user's last ones too."""
    query = "\n".join(newest)
    if not query.strip() or len(terms_of(query)) >= _FEWEST_TERMS:
        return query
    return "\n".join((*before[-1:], query))


def best_of(passages: Sequence[Passage], query: str, shown: Sequence[str] = ()) -> tuple[Passage, ...]:
    """The passages that are worth their place in the prompt, best first.

    None that says no more than the query does, and none that is part of a text that the prompt has shown anyway.
    """
    asked = frozenset(words_of(query))
    fresh = [one for one in passages if not any(one.text in text for text in shown)]
    ranked = sorted((one for one in fresh if not asked.issuperset(words_of(one.text))), key=lambda one: -one.fit)
    least = max(_LEAST, _OF_BEST * ranked[0].fit) if ranked else 0.0
    return tuple(one for one in ranked if one.fit >= least)[:SNIPPETS]


def with_memories(memory: WorkingMemory, found: Sequence[Passage], query: str, budget: int) -> WorkingMemory:
    """Put what was found, as windows around the words of the query that share a budget of tokens."""
    room = (budget - estimate_tokens(_HEAD)) // len(found) if found else 0
    terms = terms_of(query)
    notes = [_note(mark, one, terms, room) for mark, one in marked(found).items()]
    shown = [one for one in notes if one.content]
    return memory.with_region(MEMORIES, *((Memory(Role.SYSTEM, _HEAD), *shown) if shown else ()))


def marked(found: Sequence[Passage]) -> dict[str, Passage]:
    """The passages by their marks."""
    return {f"m{number}": one for number, one in enumerate(found, 1)}


def with_sources(reply: str, found: Sequence[Passage]) -> str:
    """A reply with the sources that it cites below it, and without marks that stand for nothing that was found."""
    text, cited = _MARKS.checked(reply, {mark: one.source for mark, one in marked(found).items()})
    return "\n\n".join(filter(None, (text, listed(cited))))


def _note(mark: str, passage: Passage, terms: Sequence[Term], tokens: int) -> Memory:
    whose = ", said by yourself" if passage.own else ""
    source = shortened(passage.source, NAME_CAP - len(f"[{mark}] {whose}"))
    return Memory(Role.USER, window_of_tokens(passage.text, terms, tokens), name=f"[{mark}] {source}{whose}")
