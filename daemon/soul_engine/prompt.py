"""The one prompt builder: constant parts come first for the provider's cache, users' words are fenced, budgets kept."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import ceil
from typing import TypeVar

from msgspec.structs import replace

from daemon.core.fencing import cut, defang, fence
from daemon.core.ports.services import Image, Message, Prompt, Speaker, SystemPart
from daemon.core.step import Step
from daemon.core.working_memory import DEFAULT_REGION, Memory, Role, WorkingMemory, estimate_tokens
from daemon.soul import Budgets
from daemon.soul.room import TALK_STEP
from daemon.soul_engine.perceiving import NOTE
from daemon.soul_engine.regions import (
    ASIDE,
    BEFORE_TALK,
    DATA_RULE,
    EARLIER_REGIONS,
    FAULTY_REPLY,
    FILES,
    GIVING_WAY,
    HOUSE_RULES,
    KNOWN_REGIONS,
    LINKED,
    MODE,
    NOTES,
    NOW,
    PERSONALITY,
    PIECE,
    PRESENT_REGIONS,
    REGION_ORDER,
    SOUL_STATE,
    STANCE,
    THREAD,
    TURNS,
    heading,
)

WITHIN = 600
"""The tokens that count of a message being answered, a poem to be mended, or a stance with contacts.

These are needed whole, and a long one is no reason to forget the talk.
"""

_FRAME = 40  # around everything else: the context elements and what a protocol adds
_PER_MESSAGE = 3  # for its role
_TRIES = 5
_LEAST = 30  # tokens below which a region says nothing

Rendering = Callable[[int], str]
"""A function that renders a region within a budget for its content. Fences and heading come on top."""


def size(texts: Iterable[str]) -> int:
    return sum(estimate_tokens(text) + _PER_MESSAGE for text in texts if text)


def room(budgets: Budgets, fixed: Iterable[str], *long: Iterable[str]) -> int:
    """Return the rest of the whole prompt after its fixed parts and the parts that may be long."""
    return budgets.prompt - _FRAME - size(fixed) - sum(min(WITHIN, size(part)) for part in long)


def talk_share(budgets: Budgets, left: int) -> int:
    return max(0, min(budgets.transcript, left // TALK_STEP * TALK_STEP))


def within(render: Rendering, budget: int, left: int, *, steady: bool = False) -> str:
    """Return a region with its heading in what is left, shortened if needed, empty where nothing useful fits.

    A `steady` region comes before the talk. Its length changes by steps, which keeps the prefix the same for a while.
    """
    left = max(0, left // TALK_STEP * TALK_STEP if steady else left)
    budget = min(budget, left)
    for _ in range(_TRIES):
        if budget < _LEAST:
            break
        text = render(budget)
        over = size((text,)) - left
        if over <= 0:
            return text
        budget -= over
    return ""


TURN_OVERHEAD = 20
"""The tokens that a fence costs around one turn of a user's, or around a note."""

CUT_TURN = 2_000
"""The most tokens given to a turn that met the output limit, most of them to its end."""

_OWN_OVERHEAD = 26  # around a turn of the soul's own: the elements of its form with verb and wish
_BESIDE_CUT = 140  # around a turn that was cut, the question before it, and the note behind it

_BLOCKS = 4  # of the budget: turns that don't fit leave the prompt by whole blocks


def transcript_window(
    turns: Sequence[Memory], budget: int, turn_budget: int = Budgets().turn
) -> tuple[tuple[Memory, ...], tuple[Memory, ...]]:
    """Split turns into older ones, for the summary, and recent ones, shown whole, that fit the budget in tokens.

    Unless all turns fit, the recent ones begin with a user's turn, never with the soul's.
    """
    start, left = len(turns), budget
    for index in range(len(turns) - 1, -1, -1):
        left -= _cost(turns[index], budget, turn_budget)
        if left < 0:
            break
        start = index
    start = _at_user(turns, start)
    return tuple(turns[:start]), tuple(turns[start:])


def shown_turns(turns: Sequence[Memory], budget: int, turn_budget: int = Budgets().turn) -> tuple[Memory, ...]:
    """Return the recent turns that a prompt shows. They fit the budget.

    If not all fit, a quarter of the budget more is left out at once. The first turn shown then stays the same for a
    while, and each prompt begins as the one before it.
    """
    older, recent = transcript_window(turns, budget, turn_budget)
    if not older:
        return recent
    block = max(1, budget // _BLOCKS)
    costs = [_cost(turn, budget, turn_budget) for turn in turns]
    left_out = ceil(sum(costs[: len(older)]) / block) * block
    start, passed = 0, 0
    while start < len(turns) and passed < left_out:
        passed += costs[start]
        start += 1
    return tuple(turns[_at_user(turns, start) :])


def turns_read(budgets: Budgets) -> int:
    """Return how many of the newest turns to read: twice what fits.

    While a summary is late, the turns read then still begin at the same one.
    """
    return 2 * (budgets.transcript // TURN_OVERHEAD + 1)


def shown_of(turn: Memory, budget: int, turn_budget: int) -> int:
    """Return the most tokens of a turn that a prompt shows. A cut turn leaves room for the question before it."""
    if "cut" not in turn.metadata:
        return turn_budget
    return min(CUT_TURN, max(budget // 2, budget - turn_budget - _BESIDE_CUT))


def _cost(turn: Memory, budget: int, turn_budget: int) -> int:
    around = _OWN_OVERHEAD if turn.role is Role.ASSISTANT else TURN_OVERHEAD
    return min(estimate_tokens(turn.content), shown_of(turn, budget, turn_budget)) + around


def _at_user(turns: Sequence[Memory], start: int) -> int:
    while 0 < start < len(turns) and turns[start].role is Role.ASSISTANT:
        start += 1
    return start


T = TypeVar("T")

OwnTurns = Callable[[str, Mapping[str, str]], str] | None

_END, _END_OF_CUT = 0.25, 0.8  # the share of the end where a turn is shortened
_EARLIER = "(The conversation began earlier.)"
_BRIEF = (SOUL_STATE, NOW, FAULTY_REPLY)  # what a gate sees of the regions named in the order
_CHAT_LIKE = (THREAD, ASIDE)  # regions of what was said; they drop their oldest
_LONG = {
    **dict.fromkeys((NOTES, TURNS, PIECE, STANCE), "message"),
    **dict.fromkeys((FILES, LINKED), FILES),
}  # regions that may be long: their budgets


def build_prompt(memory: WorkingMemory, step: Step[T], *, budgets: Budgets, nonce: str) -> Prompt:
    """Render working memory and a step's command as a prompt (seed 000).

    Constant parts come first, for the provider's cache: personality and rules, a constant command, the mode. Then come
    the summary and the talk so far. What changes comes after the newest message, in one <context-…> element: mood,
    people, thoughts, memories, the clock, the stance. The command is last. SYSTEM memories are the daemon's own words
    and are not fenced. All others are data and are fenced. The whole keeps to `budgets.prompt`, except for the parts
    that count as `WITHIN`.
    """
    command = step.command if isinstance(step.command, str) else step.command(memory)
    closing = "\n\n".join(part for part in ("" if step.standing else command, step.cue) if part)
    system = tuple(_system(memory, step, command))
    return Prompt(
        role=step.role,
        step=step.name,
        system=tuple(SystemPart(text, stable=True) for text in system),
        messages=_Chat(memory, step, budgets, nonce).messages(closing, system),
        json_schema=step.json_schema,
        placeholder=step.placeholder,
        creativity=step.creativity,
        effort=step.effort,
        max_output_tokens=step.max_output_tokens,
        needs_eyes=step.needs_eyes,
    )


def with_pictures(prompt: Prompt, pictures: Sequence[Image]) -> Prompt:
    """Add pictures to the last message, which is the user's and is not repeated by the next prompt."""
    if not pictures:
        return prompt
    *before, last = prompt.messages
    return replace(prompt, messages=(*before, replace(last, images=tuple(pictures))))


def _system(memory: WorkingMemory, step: Step[T], command: str) -> Iterator[str]:
    regions = (HOUSE_RULES,) if step.last_turns else (PERSONALITY, HOUSE_RULES)
    yield "\n\n".join(one.content for region in regions for one in memory.region(region)) or DATA_RULE
    if step.standing:
        yield command
    if not step.last_turns:
        yield from (one.content for one in memory.region(MODE))


class _Chat:
    """The renderer of the messages of one prompt."""

    def __init__(self, memory: WorkingMemory, step: Step[T], budgets: Budgets, nonce: str) -> None:
        self._memory, self._budgets, self._nonce = memory, budgets, nonce
        self._own_turns: OwnTurns = step.own_turns
        self._last_turns = step.last_turns
        self._newest = budgets.turn if step.unasked else budgets.message

    def messages(self, closing: str, standing: Sequence[str]) -> tuple[Message, ...]:
        """Return the talk with alternating roles, begun and ended by the user, with the message being answered.

        `standing` are the parts of the system prompt. A cache mark follows the last message that the next prompt
        repeats.
        """
        turns = self._memory.region(DEFAULT_REGION)
        by_users = [place for place, turn in enumerate(turns) if turn.role is Role.USER]
        current = by_users[-1] if by_users else len(turns)
        now = [self._turn(turn, self._newest) for turn in turns[current:]]
        shown = {region: self._titled(region) for region in self._shown() if region not in (*BEFORE_TALK, *GIVING_WAY)}
        fixed = [text for region, text in shown.items() if region in REGION_ORDER and region not in _LONG]
        long = (
            [text for _, text in now],
            *([shown[region]] for region in (PIECE, STANCE, LINKED, FILES) if region in shown),
        )
        left = room(self._budgets, (*standing, closing, *fixed), *long)
        shown |= (first := self._fitting(BEFORE_TALK, left))
        left -= size(first.values())
        before = self._talk(turns[:current], talk_share(self._budgets, left))
        shown |= self._fitting(GIVING_WAY, left - size(text for _, text in before))
        before.insert(0, (Speaker.USER, self._context(shown, EARLIER_REGIONS)))
        now += [(Speaker.USER, self._context(shown, self._behind())), (Speaker.USER, closing)]
        return _marked(_alternating(before), _alternating(before + now), marks=not self._last_turns)

    def _talk(self, turns: Sequence[Memory], share: int) -> list[tuple[Speaker, str]]:
        turns = turns[-self._last_turns :] if self._last_turns else turns
        recent = shown_turns(turns, share, self._budgets.turn)
        return [self._turn(turn, shown_of(turn, share, self._budgets.turn)) for turn in recent]

    def _behind(self) -> tuple[str, ...]:
        others = dict.fromkeys(one.region for one in self._memory if one.region and one.region not in REGION_ORDER)
        return (*KNOWN_REGIONS, *others, *PRESENT_REGIONS)

    def _shown(self) -> tuple[str, ...]:
        regions = (*EARLIER_REGIONS, *self._behind())
        if not self._last_turns:
            return regions
        return tuple(region for region in regions if region in _BRIEF or region not in REGION_ORDER)

    # -- regions ------------------------------------------------------------------------------------------------------

    def _context(self, shown: Mapping[str, str], regions: Sequence[str]) -> str:
        inside = "\n\n".join(text for region in regions if (text := shown.get(region)))
        return f"<context-{self._nonce}>\n{inside}\n</context-{self._nonce}>" if inside else ""

    def _fitting(self, regions: Sequence[str], left: int) -> dict[str, str]:
        texts = dict[str, str]()
        for region in regions:
            if region in self._shown() and self._memory.region(region):
                render, steady = partial(self._titled, region), region == THREAD
                texts[region] = within(render, self._budgets.of(region), left, steady=steady)
                left -= size((texts[region],))
        return texts

    def _titled(self, region: str, budget: int | None = None) -> str:
        memories = self._memory.region(region)
        budget = self._budgets.of(_LONG.get(region, region)) if budget is None else budget
        return f"## {heading(region)}\n\n{self._region(region, memories, budget)}" if memories else ""

    def _region(self, region: str, memories: tuple[Memory, ...], left: int) -> str:
        """Render the memories that fit: talk drops its oldest, other regions their last. The first is cut instead."""
        newest_first = region in _CHAT_LIKE
        shown: list[str] = []
        for one in reversed(memories) if newest_first else memories:
            if shown and estimate_tokens(one.content) > left:
                break
            text = cut(one.content, left)
            left -= estimate_tokens(text)
            shown.append(self._note(one, text, region))
        return "\n".join(reversed(shown) if newest_first else shown)

    def _note(self, memory: Memory, text: str, region: str) -> str:
        if memory.role is Role.SYSTEM:
            return text
        if region in _CHAT_LIKE:
            return fence("said", text, self._nonce, by=memory.name or "")
        return fence("note", text, self._nonce, about=memory.name or "")

    # -- turns ---------------------------------------------------------------------------------------------------------

    def _turn(self, turn: Memory, budget: int) -> tuple[Speaker, str]:
        match turn.role:
            case Role.USER if turn.metadata.get("kind") == NOTE:
                return Speaker.USER, fence("note", cut(turn.content, budget), self._nonce, about=turn.name or "")
            case Role.USER:
                late = turn.metadata.get("late", "")
                text = cut(turn.content, budget)
                return Speaker.USER, fence("said", text, self._nonce, by=turn.name or "", late=late)
            case Role.ASSISTANT:
                return Speaker.ASSISTANT, self._own(turn, budget)
            case Role.SYSTEM:
                return Speaker.USER, cut(turn.content, budget)

    def _own(self, turn: Memory, budget: int) -> str:
        verb, was_cut = turn.metadata.get("verb", ""), "cut" in turn.metadata
        shown = cut(turn.content, budget, tail=_END_OF_CUT if was_cut else _END)
        text = defang(shown, self._nonce)
        if turn.metadata.get("kind") == "thought":
            return f"{self._memory.soul_name} {verb or 'thought'}: {text}"
        return self._own_turns(text, turn.metadata) if self._own_turns else text


def _alternating(spoken: Sequence[tuple[Speaker, str]]) -> tuple[Message, ...]:
    """Merge neighbours of one speaker. Chat models require the user first and last, and no blank message."""
    messages: list[Message] = []
    for speaker, text in spoken:
        if not text.strip():
            continue
        if messages and messages[-1].speaker is speaker:
            messages[-1] = Message(speaker, f"{messages[-1].text}\n\n{text}")
        else:
            messages.append(Message(speaker, text))
    if not messages or messages[0].speaker is Speaker.ASSISTANT:
        messages.insert(0, Message(Speaker.USER, _EARLIER))
    if messages[-1].speaker is Speaker.ASSISTANT:
        messages.append(Message(Speaker.USER, "(Go on.)"))
    return tuple(messages)


def _marked(before: Sequence[Message], messages: tuple[Message, ...], *, marks: bool) -> tuple[Message, ...]:
    own = [place for place, one in enumerate(before) if one.speaker is Speaker.ASSISTANT]
    if not marks or not own:
        return messages
    place = own[-1]
    return (*messages[:place], replace(messages[place], cached=True), *messages[place + 1 :])
