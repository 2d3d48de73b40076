"""The removal of a forgotten fact's words from turns, thoughts, results of thoughts, and equal facts.

Everything else of the person stays. A text tells a fact if it holds a quotation, or a sentence with all telling words
of the fact.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from daemon.core.value import Value
from daemon.core.words import Term, folded, likeness, terms_of, words_of
from daemon.memory.database import Transaction
from daemon.memory.goals_in_force import OWED, WITHOUT_WORDS
from daemon.memory.knowledge.records.forget import make_anew
from daemon.memory.knowledge.records.kinds import Fact, Trust
from daemon.memory.knowledge.records.links import Link, Relation, links_from, turn_id
from daemon.memory.knowledge.records.store import select
from daemon.memory.knowledge.turn_index import leave_out
from daemon.memory.knowledge.turns import forget_summary
from daemon.memory.records import Speaks
from daemon.memory.stream.emptying import note_changed, thoughts_on

OWN_FACT: Final = f"""
    r.soul = :soul AND r.workspace = :workspace AND r.person IN (:person, '') AND CASE r.person
      WHEN :person THEN r.trust <> '{Trust.CLAIM}' ELSE k.claimed_by = :person OR (r.trust = '{Trust.INFERRED}'
        AND r.audience GLOB 'dm:*' AND r.audience IN (SELECT m.audience FROM user_models m
          WHERE m.soul = :soul AND m.workspace = :workspace AND m.person = :person)) END
    """  # noqa: S608 - constants
"""A condition in SQL: the record `r` with the fact `k` is about the person, noted by them, or noted in their DMs.

A user's words about another user known to the soul belong to neither.
"""


async def own_fact(transaction: Transaction, scope: Mapping[str, str], person: str, fact: str) -> Fact | None:
    """Return a fact by its id, also an ended one, or None if it isn't that person's own."""
    found = await select(transaction, Fact, f"r.id = :fact AND {OWN_FACT}", fact=fact, person=person, **scope)
    return found[0] if found else None


_GONE: Final = "…"
_SENTENCES: Final = re.compile(r"((?<=[.!?…。])\s+|\n+)")
_SURE: Final = 0.7  # likeness of two forms of a word
_FEWEST: Final = 2  # telling words by which a sentence is known
_WITHDRAWN: Final = """
    UPDATE predictions SET what = '', timeframe = '', awaited = json_object('kind', kind),
      state = CASE state WHEN 'open' THEN 'withdrawn' ELSE state END WHERE rowid = :key
    """
_QUOTING: Final = (
    ("goals", "thought", "goal || ' ' || why", f"UPDATE goals SET {WITHOUT_WORDS} WHERE rowid = :key AND {OWED}"),  # noqa: S608 - constants
    ("goals", "thought", "goal || ' ' || why", f"DELETE FROM goals WHERE rowid = :key AND NOT ({OWED})"),  # noqa: S608 - constants
    ("mind_documents", "thought", "words || ' ' || why", "DELETE FROM mind_documents WHERE rowid = :key"),
    ("intentions", "substr(id, 1, instr(id, '-') - 1)", "content", "DELETE FROM intentions WHERE rowid = :key"),
    ("predictions", "thought", "what", _WITHDRAWN),
)  # rows made by thoughts: table, thought, words, and the change to one that tells the fact


class Saying(Value):
    """The ways to tell a fact: a person's quotations, or all words of one of `terms`."""

    quotes: tuple[str, ...]
    terms: tuple[tuple[Term, ...], ...]

    def is_told(self, text: str) -> bool:
        """Return True if a text tells the fact."""
        return self.left_out(text) != text

    def left_out(self, text: str) -> str:
        """Return a text without the quotations, and without sentences that tell the fact."""
        for quote in self.quotes:
            text = re.sub(r"\s+".join(map(re.escape, quote.split())), _GONE, text, flags=re.IGNORECASE)
        return "".join(_GONE if self._tells(one) else one for one in _SENTENCES.split(text))

    def left_out_of_json(self, text: str) -> str:
        """Return stored JSON with the fact left out of its texts. Unreadable JSON is dropped as a whole."""
        try:
            return json.dumps(self._without(json.loads(text)), ensure_ascii=False) if text else ""
        except (ValueError, RecursionError):
            return "{}"

    def _without(self, value: Any) -> Any:  # noqa: ANN401  # any JSON value
        if isinstance(value, str):
            return self.left_out(value)
        if isinstance(value, list):
            return [self._without(one) for one in value]
        return {name: self._without(one) for name, one in value.items()} if isinstance(value, dict) else value

    def _tells(self, sentence: str) -> bool:
        plain = folded(sentence)
        likely = [terms for terms in self.terms if all((one.stem or one.word) in plain for one in terms)]
        words = words_of(sentence) if likely else []
        return any(all(any(likeness(one, word) >= _SURE for word in words) for one in terms) for terms in likely)


async def twins(transaction: Transaction, person: str, fact: Fact) -> list[Fact]:
    """Return the person's other facts of equal meaning, apart from their name."""
    names = await _names(transaction, person)
    terms = _telling(fact.text, names)
    own = await select(transaction, Fact, f"{OWN_FACT} AND r.id <> :fact", fact=fact.id, person=person, **_scope(fact))
    return [one for one in own if terms and _same(terms, _telling(one.text, names))]


async def each_once(transaction: Transaction, person: str, facts: Sequence[Fact]) -> tuple[Fact, ...]:
    """Return the facts without those equal to an earlier one, as in `twins`."""
    names = await _names(transaction, person)
    kept: list[tuple[Fact, tuple[Term, ...]]] = []
    for fact in facts:
        terms = _telling(fact.text, names)
        if not terms or not any(_same(terms, earlier) for _, earlier in kept):
            kept.append((fact, terms))
    return tuple(fact for fact, _ in kept)


async def unsay(
    transaction: Transaction, person: str, facts: Sequence[Fact], now: int, reason: str, *, heard: bool = False
) -> None:
    """Remove facts from thoughts, results of thoughts, and turns of their conversations since they were said.

    Other people's words stay. `heard`: all turns stay, because something else was corrected.
    """
    proofs = [one for fact in facts for one in await links_from(transaction, fact.id, *_PROOFS)]
    saying = await _saying(transaction, person, facts, proofs)
    sources = list(dict.fromkeys(one.target for one in proofs))
    await note_changed(transaction, [*sources, *(fact.id for fact in facts)])
    thoughts = json.dumps(await thoughts_on(transaction, [*sources, *(fact.id for fact in facts)]))
    await _leave_out_of_thoughts(transaction, saying, thoughts)
    for row in () if heard else await transaction.rows(_SAID, sources=json.dumps(sources), person=person):
        body, thought = saying.left_out(row["body"]), saying.left_out_of_json(row["thought"])
        if body == row["body"] and thought == row["thought"]:
            continue
        await leave_out(transaction, row["seq"], body, thought, reason, now)
        await make_anew(transaction, turn_id(Speaks(row["speaker"]), row["seq"]), now, reason)
        await forget_summary(transaction, row["conversation"], row["seq"])


_PROOFS: Final = (Relation.EVIDENCE, Relation.SOURCES)
_SAID: Final = """
    SELECT t.* FROM turns t JOIN (SELECT conversation, min(seq) AS first FROM turns
      WHERE 'TU_' || seq IN (SELECT value FROM json_each(:sources)) GROUP BY conversation) s
      ON s.conversation = t.conversation AND t.seq >= s.first
    WHERE t.author = :person OR t.speaker = 'soul' ORDER BY t.seq
    """


async def _leave_out_of_thoughts(transaction: Transaction, saying: Saying, thoughts: str) -> None:
    for table, thought, words, statement in _QUOTING:
        rows = await transaction.rows(
            f"SELECT rowid AS key, {words} AS words FROM {table} "  # noqa: S608 - literals of this module
            f"WHERE {thought} IN (SELECT value FROM json_each(:ids))",
            ids=thoughts,
        )
        await transaction.run_for_each(statement, [row["key"] for row in rows if saying.is_told(row["words"])])
    rows = await transaction.rows(
        "SELECT id, input, output FROM thoughts WHERE id IN (SELECT value FROM json_each(:ids)) AND emptied = 0",
        ids=thoughts,
    )
    for row in rows:
        await transaction.run(
            "UPDATE thoughts SET input = :input, output = :output WHERE id = :id",
            id=row["id"],
            input=saying.left_out_of_json(row["input"]),
            output=saying.left_out_of_json(row["output"]),
        )


async def _saying(transaction: Transaction, person: str, facts: Sequence[Fact], proofs: Sequence[Link]) -> Saying:
    names = await _names(transaction, person)
    quotes = tuple(dict.fromkeys(one.quote for one in proofs if one.quote))
    telling = dict.fromkeys(_telling(one, names) for one in (*quotes, *(fact.text for fact in facts)))
    return Saying(
        tuple(one for one in quotes if len(_telling(one, names)) >= _FEWEST),
        tuple(one for one in telling if len(one) >= _FEWEST),
    )


def _telling(text: str, names: frozenset[str]) -> tuple[Term, ...]:
    return tuple(one for one in terms_of(text) if one.word not in names)


def _same(terms: Sequence[Term], others: Sequence[Term]) -> bool:
    return len(terms) == len(others) and all(any(likeness(one, two.word) >= _SURE for two in others) for one in terms)


async def _names(transaction: Transaction, person: str) -> frozenset[str]:
    rows = await transaction.rows("SELECT DISTINCT name FROM turns WHERE author = :person", person=person)
    return frozenset(word for row in rows for word in words_of(row["name"]))


def _scope(fact: Fact) -> dict[str, str]:
    return {"soul": fact.soul, "workspace": fact.workspace}
