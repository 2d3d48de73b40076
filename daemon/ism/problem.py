"""The problem that autonomous work is solving, as it is stored between turns, and its regions in the prompt."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from pydantic import BaseModel, ConfigDict

from daemon.core.expectations import Spent
from daemon.core.perception import Readers
from daemon.core.ports.library import Passage
from daemon.core.sentences import HOUSE_WORDS, Words
from daemon.core.text import one_line, shortened, storable
from daemon.core.windows import window_of_tokens
from daemon.core.words import Term
from daemon.core.working_memory import DEFAULT_REGION, Memory, Role, WorkingMemory, estimate_tokens
from daemon.mind.citations import Citations, listed
from daemon.mind.steps.choose_actions import ChosenAction
from daemon.soul_engine import RESULTS, with_notes

RESEARCH_TOKENS = 2_400
"""The estimated tokens that the passages found by one search share, their sources included."""

PAGE_TOKENS = 1_800
_BREAK = 1  # token of the line between two passages
_PIECE = 400  # characters of a line that is too long for a page


def excerpts(found: Iterable[tuple[int, Passage]], terms: Sequence[Term], tokens: int = RESEARCH_TOKENS) -> str:
    """List numbered passages with their sources, each whole or as the window with most of the search terms.

    The passages share the tokens evenly. Tokens that a short passage leaves go to the others.
    """
    listed = [(f"[{number}] {one.source}\n", one.text) for number, one in found]
    left = tokens - sum(estimate_tokens(head) + _BREAK for head, _ in listed)
    needs = [estimate_tokens(text) for _, text in listed]
    return "\n\n".join(
        head + (text if share == need else window_of_tokens(text, terms, share))
        for (head, text), need, share in zip(listed, needs, share_evenly(needs, left), strict=True)
    )


def share_evenly(needs: Sequence[int], total: int) -> list[int]:
    """Share a total evenly. Each gets at most what it needs, and the rest is shared among the others."""
    shares = [0] * len(needs)
    for rank, place in enumerate(sorted(range(len(needs)), key=lambda place: needs[place])):
        shares[place] = max(0, min(needs[place], total // (len(needs) - rank)))
        total -= shares[place]
    return shares


def pages(texts: Sequence[str], tokens: int = PAGE_TOKENS) -> list[range]:
    """Group texts, in order, into pages of at most so many tokens. A longer text is a page by itself."""
    breaks, left = [0], tokens
    for place, text in enumerate(texts):
        needed = estimate_tokens(text)
        if needed > left and place > breaks[-1]:
            breaks.append(place)
            left = tokens
        left -= needed
    return [range(start, end) for start, end in pairwise((*breaks, len(texts)))]


def text_pages(text: str, tokens: int = PAGE_TOKENS) -> list[str]:
    """Split a text into pages of at most so many tokens, between lines where possible. There is at least one page."""
    pieces = [
        line[start : start + _PIECE] for line in text.splitlines(keepends=True) for start in range(0, len(line), _PIECE)
    ]
    return ["".join(pieces[place] for place in page).strip("\n") for page in pages(pieces, tokens)]


MOST_FOUND = 60
"""The most passages kept of one problem, as far as their bytes allow. Later passages are not added."""

TEXT_CAP = 6_100
"""The most characters kept of one passage: a tool's output with the note on what was left out."""

KEPT_BYTES = 256 * 1024
"""The most bytes of a problem in memory.db, however long answers and tool results are."""

_SOURCE_CAP = 200  # characters
_LONGEST_PATH = 1_000  # characters; of a document with a longer one no more is read than what was found
_TEXT_BYTES, _SOURCE_BYTES = 24_000, 600  # of one passage in memory.db
_FOUND_BYTES = 140_000  # of all passages
_INTERNAL_BYTES = 110_000
_MEMORY_BYTES = 200  # of one memory, or one passage, besides its text

_NUMBERS = Citations(r"\d{1,3}")


class _Kept(BaseModel):
    """The form in memory.db. `internal` is JSON text, `found` holds pairs of source and text.

    `open` lists the places in `found` of passages that not only members may read. `documents` holds path and line of a
    library's passage. `of_rooms` holds the private room of a passage, `ids` the id of a memory.
    """

    model_config = ConfigDict(extra="forbid")

    internal: str
    found: list[tuple[str, str]]
    open: list[int] = []
    documents: dict[int, tuple[str, int]] = {}
    of_rooms: dict[int, str] = {}
    ids: dict[int, str] = {}
    members_only: bool = True
    rooms: list[str] = []
    spent: dict[str, object]
    asker: str
    asks: bool
    approval: str


@dataclass(slots=True)
class Problem:
    """The process memory of `problem_solving`. Passages are numbered from one, as the reply cites them.

    `asker` is the platform id of the user who has the problem, empty if unknown. `asks` is true while it waits for the
    answer to a question. `approval` is the id of an undecided question for permission. `members_only` and `rooms`
    describe the readers during the work. Thoughts may rest on what only members, or members of these private rooms,
    may know.
    """

    internal: WorkingMemory
    found: list[Passage] = field(default_factory=list)
    spent: Spent = Spent()  # noqa: RUF009 - a frozen value
    asker: str = ""
    asks: bool = False
    approval: str = ""
    members_only: bool = True
    rooms: frozenset[str] = frozenset()

    @property
    def waits(self) -> bool:
        return self.asks or bool(self.approval)

    @classmethod
    def resumed(cls, kept: Mapping[str, object], soul_name: str) -> "Problem":
        """Read the value of `to_json`. Return a new problem where it is empty or not readable."""
        try:
            read = _Kept.model_validate(dict(kept))
            return cls(
                internal=WorkingMemory.from_json(read.internal),
                found=[
                    Passage(
                        source,
                        text,
                        place not in read.open,
                        *read.documents.get(place, ("", 0)),
                        room=read.of_rooms.get(place, ""),
                        id=read.ids.get(place, ""),
                    )
                    for place, (source, text) in enumerate(read.found)
                ],
                spent=Spent.from_json(read.spent),
                asker=read.asker,
                asks=read.asks,
                approval=read.approval,
                members_only=read.members_only,
                rooms=frozenset(read.rooms),
            )
        except ValueError:
            return cls(WorkingMemory(soul_name))

    def to_json(self) -> dict[str, object]:
        """Return plain values for memory.db, at most `KEPT_BYTES`. The oldest choices and observations are dropped."""
        kept = _Kept(
            internal=self.internal.replace(reversed(list(_newest(self.internal)))).to_json(),
            found=[(one.source, one.text) for one in self.found],
            open=[place for place, one in enumerate(self.found) if not one.members_only],
            documents={place: (one.document, one.line) for place, one in enumerate(self.found) if one.document},
            of_rooms={place: one.room for place, one in enumerate(self.found) if one.room},
            ids={place: one.id for place, one in enumerate(self.found) if one.id},
            members_only=self.members_only,
            rooms=sorted(self.rooms),
            spent=self.spent.to_json(),
            asker=self.asker,
            asks=self.asks,
            approval=self.approval,
        )
        return kept.model_dump(mode="json")

    def keep_for(self, readers: Readers) -> None:
        """Drop passages for members alone or of other private rooms, and then the thoughts that may rest on them."""
        if (self.members_only and not readers.members_only) or not self.rooms <= readers.rooms:
            self.found = [one for one in self.found if readers.members_only or not one.members_only]
            self.found = [one for one in self.found if not one.room or one.room in readers.rooms]
            self.internal = WorkingMemory(self.internal.soul_name)
        self.members_only, self.rooms = readers.members_only, readers.rooms

    def number(self, passage: Passage) -> int:
        """Keep a passage and return the number by which it is cited, 0 where there is no room for it."""
        kept = _in_form(passage)
        if kept not in self.found:
            if len(self.found) >= MOST_FOUND or sum(map(_size, (*self.found, kept))) > _FOUND_BYTES:
                return 0
            self.found.append(kept)
        return self.found.index(kept) + 1

    def add(self, passages: Sequence[Passage], terms: Sequence[Term] = ()) -> str:
        """Keep passages, each once, and return them as an observation with the numbers by which they are cited.

        A passage that is too long is shown around the `terms` of the search.
        """
        numbers = [self.number(one) for one in dict.fromkeys(passages)]
        left_out = numbers.count(0)
        shown = excerpts([(number, self.found[number - 1]) for number in dict.fromkeys(numbers) if number], terms)
        note = f"({left_out} more were found, but nothing more is kept: work with what there is.)" if left_out else ""
        return "\n\n".join(filter(None, (shown, note)))

    @property
    def numbered(self) -> dict[str, Passage]:
        return {str(number): one for number, one in enumerate(self.found, 1)}

    def with_sources(self, reply: str, words: Words = HOUSE_WORDS) -> str:
        """Return a reply with its cited sources below it. Unknown marks are removed, but not in code."""
        sources = {mark: one.source for mark, one in self.numbered.items()}
        text, cited = _NUMBERS.checked(reply, sources)
        return "\n\n".join((text, listed(cited, words))) if cited else text


def _in_form(passage: Passage) -> Passage:
    source = one_line(passage.source.replace("`", "'"))
    return Passage(
        _cut(source, _SOURCE_CAP, _SOURCE_BYTES) or "somewhere",
        _cut(passage.text, TEXT_CAP, _TEXT_BYTES),
        passage.members_only,
        *((passage.document, passage.line) if len(passage.document) <= _LONGEST_PATH else ("", 0)),
        room=passage.room,
        id=passage.id,
    )


def _cut(text: str, characters: int, most: int) -> str:
    kept = storable(text[:characters])
    while (size := _bytes(kept)) > most:
        kept = kept[: len(kept) * most // size]
    return kept


def _size(passage: Passage) -> int:
    return _bytes(passage.source) + _bytes(passage.text) + _bytes(passage.document) + _MEMORY_BYTES


def _newest(internal: WorkingMemory) -> Iterator[Memory]:
    left = _INTERNAL_BYTES
    for one in reversed(internal.memories):
        kept = replace(one, content=storable(one.content), name=storable(one.name) if one.name else one.name)
        left -= _bytes(kept.content) + _bytes(kept.name or "") + _MEMORY_BYTES
        if left < 0:
            return
        yield kept


def _bytes(text: str) -> int:
    """Return the most bytes of a text in memory.db: UTF-8, as JSON within JSON."""
    return len(json.dumps(json.dumps(text, ensure_ascii=False), ensure_ascii=False).encode())


GOAL, PLAYBOOK, ACTIONS, LOG = "goal", "playbook", "actions", "log"

INPUT = "aim"
"""The region of an action's input: a model's words that may quote any user, so they are data."""

REGIONS = (GOAL, PLAYBOOK, ACTIONS, LOG, RESULTS)
"""The regions that exist only while the work goes on, in reading order."""

MOST_RESULTS = 6
"""The most observations that are shown, the newest, as many as fit the budget of their region."""

OBSERVATION_CAP = 12_000
LOG_TOKENS = 500
"""The estimated tokens of the log. Its oldest lines are left out first."""

LINE_CAP = 160
_OBSERVATION = "observation"


def with_observation(internal: WorkingMemory, action: ChosenAction, text: str) -> WorkingMemory:
    """Add the observation of an action to the internal memory, as data, cut to the cap and storable as UTF-8."""
    left_out = len(text) - OBSERVATION_CAP
    kept = storable(text[:OBSERVATION_CAP])
    if left_out > 0:
        kept = f"{kept}\n[… {left_out} characters left out here …]"
    name = f"{action.name}: {action.input}" if action.input else action.name
    return internal.with_memory(Memory(Role.USER, kept, name=_line(name), metadata={"kind": _OBSERVATION}))


def with_work(memory: WorkingMemory, internal: WorkingMemory, goal: str, playbook: str) -> WorkingMemory:
    """Add the goal and playbook as the daemon's own words, and the log and newest results as data.

    The regions follow the order of REGIONS, before the talk.
    """
    memory = _ordered(memory, REGIONS)
    memory = memory.with_region(GOAL, Memory(Role.SYSTEM, goal)).with_region(PLAYBOOK, Memory(Role.SYSTEM, playbook))
    if len(internal):
        memory = memory.with_region(LOG, Memory(Role.USER, "\n".join(_log(internal))))
    results = [one for one in internal if one.metadata.get("kind") == _OBSERVATION]
    return memory.with_region(RESULTS, *reversed(results[-MOST_RESULTS:]))


def with_actions(memory: WorkingMemory, described: Iterable[tuple[str, str]]) -> WorkingMemory:
    """Add the names and descriptions of the actions, as the daemon's own words."""
    listed = "\n".join(f"- {name}: {description}" for name, description in described)
    return memory.with_region(ACTIONS, Memory(Role.SYSTEM, listed))


def with_input(memory: WorkingMemory, words: str) -> WorkingMemory:
    """Add an action's input, as data. Without words there is no such region."""
    return with_notes(memory, INPUT, words)


def without_work(memory: WorkingMemory) -> WorkingMemory:
    return _ordered(memory.without_regions(*REGIONS), ())


def _ordered(memory: WorkingMemory, regions: tuple[str, ...]) -> WorkingMemory:
    order = [name for name in memory.regional_order if name not in REGIONS]
    place = order.index(DEFAULT_REGION) if DEFAULT_REGION in order else len(order)
    return memory.with_regional_order(*order[:place], *regions, *order[place:])


def _log(internal: WorkingMemory) -> Iterator[str]:
    lines: list[str] = []
    left = LOG_TOKENS
    for one in reversed(internal.memories):
        line = _line(f"{one.metadata.get('verb') or one.name or 'noted'}: {one.content}")
        left -= estimate_tokens(line) + 1
        if left < 0:
            yield f"({len(internal) - len(lines)} earlier entries are left out.)"
            break
        lines.append(line)
    yield from reversed(lines)


def _line(text: str) -> str:
    return shortened(one_line(text[: 4 * LINE_CAP]), LINE_CAP)
