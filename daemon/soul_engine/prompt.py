"""The one prompt builder: what stays equal from turn to turn stands first, users' words are fenced, budgets kept."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from daemon.core.fencing import cut, defang, fence
from daemon.core.ports import Message, Prompt, Speaker, SystemPart
from daemon.core.step import Step
from daemon.core.working_memory import DEFAULT_REGION, Memory, Role, WorkingMemory, estimate_tokens
from daemon.soul import Budgets
from daemon.soul_engine.perceiving import NOTE
from daemon.soul_engine.regions import (
    ASIDE,
    DATA_RULE,
    EARLIER_REGIONS,
    FAULTY_REPLY,
    HOUSE_RULES,
    KNOWN_REGIONS,
    MODE,
    NOTES,
    NOW,
    PERSONALITY,
    PRESENT_REGIONS,
    REGION_ORDER,
    SOUL_STATE,
    THREAD,
    TURNS,
    heading,
)
from daemon.soul_engine.window import shown_turns

T = TypeVar("T")

OwnTurns = Callable[[str, Mapping[str, str]], str] | None

CUT_TURN = 2_000
"""Tokens that the prompt gives to a turn that met the output limit, most of them to its end."""

_END, _END_OF_CUT = 0.25, 0.8  # the share of the end where a turn is shortened
_EARLIER = "(The conversation began earlier.)"
_BRIEF = (SOUL_STATE, NOW, FAULTY_REPLY)  # what a gate sees of the regions named in the order
_CHAT_LIKE = (THREAD, ASIDE)  # regions of what was said; they drop their oldest
_LONG = {NOTES: "message", TURNS: "message"}  # regions that have another part's budget


def build_prompt(memory: WorkingMemory, step: Step[T], *, budgets: Budgets, nonce: str) -> Prompt:
    """Render working memory and a step's command as a prompt (seed 000).

    First stands what is equal from turn to turn, so that a provider reads it from its cache: personality and rules, a
    standing command, the mode; then the summary and the talk so far. Behind the newest message stands what changes, in
    one <context-…> element: mood, people, thoughts, memories, the clock, the stance; then the command. SYSTEM memories
    are the daemon's own words and are not fenced; anything else is data and is.
    """
    command = step.command if isinstance(step.command, str) else step.command(memory)
    closing = "\n\n".join(part for part in ("" if step.standing else command, step.cue) if part)
    return Prompt(
        role=step.role,
        step=step.name,
        system=tuple(SystemPart(text, stable=True) for text in _system(memory, step, command)),
        messages=_Chat(memory, step, budgets, nonce).messages(closing),
        json_schema=step.json_schema,
        placeholder=step.placeholder,
        creativity=step.creativity,
        effort=step.effort,
        max_output_tokens=step.max_output_tokens,
    )


def _system(memory: WorkingMemory, step: Step[T], command: str) -> Iterator[str]:
    """The parts of the system prompt; a gate has no personality and no mode."""
    regions = (HOUSE_RULES,) if step.last_turns else (PERSONALITY, HOUSE_RULES)
    yield "\n\n".join(one.content for region in regions for one in memory.region(region)) or DATA_RULE
    if step.standing:
        yield command
    if not step.last_turns:
        yield from (one.content for one in memory.region(MODE))


class _Chat:
    """Renders the messages of one prompt."""

    def __init__(self, memory: WorkingMemory, step: Step[T], budgets: Budgets, nonce: str) -> None:
        self._memory, self._budgets, self._nonce = memory, budgets, nonce
        self._own_turns: OwnTurns = step.own_turns
        self._last_turns = step.last_turns

    def messages(self, closing: str) -> tuple[Message, ...]:
        """The talk with roles alternating, begun and ended by the user; the message being answered is always shown.

        A cache mark stands behind the last message that the next prompt repeats.
        """
        turns = self._memory.region(DEFAULT_REGION)
        by_users = [place for place, turn in enumerate(turns) if turn.role is Role.USER]
        current = by_users[-1] if by_users else len(turns)
        before = self._spoken(self._recent(turns[:current]), self._budgets.turn)
        now = self._spoken(turns[current:], self._budgets.message)
        now += [(Speaker.USER, self._context(self._behind())), (Speaker.USER, closing)]
        if not self._last_turns:
            before.insert(0, (Speaker.USER, self._context(EARLIER_REGIONS)))
        return _marked(_alternating(before), _alternating(before + now), marks=not self._last_turns)

    def _recent(self, turns: Sequence[Memory]) -> Sequence[Memory]:
        if self._last_turns:
            return turns[-self._last_turns :]
        return shown_turns(turns, self._budgets.transcript, self._budgets.turn)

    def _behind(self) -> tuple[str, ...]:
        """The regions behind the talk, in order."""
        others = dict.fromkeys(one.region for one in self._memory if one.region and one.region not in REGION_ORDER)
        regions = (*KNOWN_REGIONS, *others, *PRESENT_REGIONS)
        if not self._last_turns:
            return regions
        return tuple(region for region in regions if region in _BRIEF or region in others)

    # -- regions ------------------------------------------------------------------------------------------------------

    def _context(self, regions: Sequence[str]) -> str:
        """The regions that hold something, under their headings, in one element."""
        texts = [
            f"## {heading(region)}\n\n{self._region(region, memories)}"
            for region in regions
            if (memories := self._memory.region(region))
        ]
        inside = "\n\n".join(texts)
        return f"<context-{self._nonce}>\n{inside}\n</context-{self._nonce}>" if texts else ""

    def _region(self, region: str, memories: tuple[Memory, ...]) -> str:
        """The memories that fit: talk drops its oldest, any other region its last; the first is cut, never dropped."""
        newest_first, left = region in _CHAT_LIKE, self._budgets.of(_LONG.get(region, region))
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

    # -- turns --------------------------------------------------------------------------------------------------------

    def _spoken(self, turns: Sequence[Memory], budget: int) -> list[tuple[Speaker, str]]:
        return [self._turn(turn, budget) for turn in turns]

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
        """A thought with its verb, or what the soul said, in the form that the step asks for."""
        verb, was_cut = turn.metadata.get("verb", ""), "cut" in turn.metadata
        shown = cut(turn.content, CUT_TURN if was_cut else budget, tail=_END_OF_CUT if was_cut else _END)
        text = defang(shown, self._nonce)
        if turn.metadata.get("kind") == "thought":
            return f"{self._memory.soul_name} {verb or 'thought'}: {text}"
        return self._own_turns(text, turn.metadata) if self._own_turns else text


def _alternating(spoken: Sequence[tuple[Speaker, str]]) -> tuple[Message, ...]:
    """Merge neighbours of one speaker; begin and end with the user, as chat models require; no message is blank."""
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
    """A cache mark behind the last message of the soul that stood before the newest words."""
    own = [place for place, one in enumerate(before) if one.speaker is Speaker.ASSISTANT]
    if not marks or not own:
        return messages
    place = own[-1]
    return (*messages[:place], replace(messages[place], cached=True), *messages[place + 1 :])
