"""The types of a soul's fields, with their bounds and the words of their refusals, and the reading of stances."""

import difflib
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from daemon.core.contexts import KEY
from daemon.core.sentences import LONGEST, LONGEST_LABEL, Suggestion
from daemon.core.sentences import SUGGESTIONS_MOST as MOST
from daemon.soul.files import STATES, read_text, state_files


def _pairs(value: object) -> object:
    return tuple(value.items()) if isinstance(value, dict) else value


class SoulSection(BaseModel):
    """A part of a soul, which is immutable and refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def matching(pattern: str, expected: str) -> AfterValidator:
    """Return a check against a pattern, whose error says in words what was expected."""
    compiled = re.compile(pattern)

    def check(value: str) -> str:
        if not compiled.fullmatch(value):
            raise ValueError(expected)
        return value

    return AfterValidator(check)


def one_line(value: str) -> str:
    """Strip a text. Raises ValueError unless it is one line of text."""
    invisible = any(unicodedata.category(char) in {"Cc", "Zl", "Zp"} for char in value)
    if invisible or not value.strip():
        raise ValueError("must be one line of text")
    return value.strip()


def no_repeats(values: tuple[str, ...]) -> tuple[str, ...]:
    """Return the values. Raises ValueError if one occurs twice."""
    if repeated := repeated_in(values):
        raise ValueError(f"names {repeated!r} twice")
    return values


def repeated_in(values: Iterable[str]) -> str | None:
    """Return the first value that occurs a second time, or None."""
    seen: set[str] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


Line = Annotated[str, Field(max_length=300), AfterValidator(one_line)]
DisplayName = Annotated[str, Field(max_length=80), AfterValidator(one_line)]
Word = Annotated[
    str, Field(max_length=40), matching(r"[^\W\d_][\w' -]*", "must be a word, or a few, beginning with a letter")
]
Words = Annotated[tuple[Word, ...], Field(min_length=1, max_length=24, strict=False)]
PrivateVerb = Annotated[  # one word: the first word of a text marks a private thought
    str, Field(max_length=40), matching(r"[^\W\d_][\w'-]*", "must be a single word, beginning with a letter")
]
PrivateVerbs = Annotated[tuple[PrivateVerb, ...], Field(max_length=24, strict=False)]
OptionalWords = Annotated[tuple[Word, ...], Field(max_length=24, strict=False), AfterValidator(no_repeats)]
Tokens = Annotated[int, Field(ge=0, le=100_000)]
ProcessName = Annotated[str, matching(r"[a-z][a-z0-9_]{0,63}", "must be a name of lower-case letters, digits and _")]
ProcessNames = Annotated[tuple[ProcessName, ...], Field(max_length=64, strict=False), AfterValidator(no_repeats)]
ContextKey = Annotated[str, matching(KEY.pattern, "must be a key of up to 64 of a-z, 0-9, dot, hyphen, underscore")]
Emoji = Annotated[
    str,
    matching(
        r"(?!eyes$)(?:[a-z0-9_+'-]{1,100}(?:::skin-tone-[2-6])?)?",
        "must be the name of an emoji without its colons, such as thumbsup; eyes marks what is worked on",
    ),
]
ChannelId = Annotated[
    str, matching(r"[CG][A-Z0-9]{2,20}", "must be a Slack channel's id, C… or G… (open the channel's details)")
]
SlackId = Annotated[
    str, matching(r"[UWCG][A-Z0-9]{2,20}", "must be the Slack id of a person (U… or W…) or of a channel (C… or G…)")
]

ContextKeys = Annotated[tuple[ContextKey, ...], Field(max_length=20, strict=False), AfterValidator(no_repeats)]

_Levels = Annotated[tuple[tuple[Word, Annotated[float, Field(ge=0, le=1, strict=False)]], ...], BeforeValidator(_pairs)]
Physio = Annotated[tuple[tuple[str, _Levels], ...], BeforeValidator(_pairs)]


class Budgets(SoulSection):
    """The most tokens, by our own estimate, of each part of a prompt.

    `message` bounds the message being answered, `turn` any earlier one, `other` a region without a separate budget.
    All parts together keep to `prompt`, except for what `daemon.soul_engine.prompt` names.
    """

    personality: Tokens = Field(1200, description="The text of soul.md; a longer one is refused.")
    mode: Tokens = Field(1200, description="The text of each mode's soul.md; a longer one is refused.")
    state: Tokens = Field(400, description="Each file in `states/`; a longer one is refused.")
    playbook: Tokens = Field(600, description="The text of playbook.md; a longer one is refused.")
    awakening: Tokens = Field(800, description="The text of awakening.md; a longer one is refused.")
    soul_state: Tokens = Field(500, description="The soul's mood, topic, task and question.")
    person: Tokens = Field(300, description="What the soul knows about the person it speaks with.")
    identity: Tokens = Field(300, description="Its values and its own text about itself, if its mind is `cycle`.")
    self_model: Tokens = Field(200, description="What it holds about itself, if its mind is `cycle`.")
    world_model: Tokens = Field(300, description="What it holds about people and things, if its mind is `cycle`.")
    memories: Tokens = Field(700, description="What surfaced from memory: earlier talk, facts, documents.")
    abilities: Tokens = Field(150, description="What it can do here and now for the person it answers.")
    room: Tokens = Field(220, description="What those who manage a channel ask of it there.")
    shared_context: Tokens = Field(200, description="What souls and people share.")
    at_work: Tokens = Field(150, description="Who is working on what, as sessions of Claude Code say.")
    thoughts: Tokens = Field(150, description="The soul's last two thoughts in the conversation.")
    goals: Tokens = Field(250, description="What the soul means to do, as far as those who read may know.")
    expected: Tokens = Field(200, description="What the soul expects, and what came of it, as far as readers may know.")
    readings: Tokens = Field(250, description="What reached its senses since its last thought, such as a red build.")
    surprises: Tokens = Field(100, description="What came otherwise than it expected.")
    aside: Tokens = Field(300, description="What users said to each other since the soul's last reply.")
    thread: Tokens = Field(500, description="What was said in a thread before the soul was asked in.")
    prompt: Tokens = Field(
        4000,
        description="The whole prompt of a reply: where it is full, memories give way first and the talk last.",
    )
    summary: Tokens = Field(400, description="A short summary of earlier turns.")
    transcript: Tokens = Field(2200, description="Recent turns, word for word.")
    turn: Tokens = Field(700, description="Any single earlier turn.")
    message: Tokens = Field(4000, description="The message being answered.")
    files: Tokens = Field(2000, description="What is in the files that came with the message being answered.")
    actions: Tokens = Field(1000, description="The actions it may choose from when it solves a problem.")
    results: Tokens = Field(4800, description="What its newest actions have brought when it solves a problem.")
    other: Tokens = Field(600, description="Any part without a budget of its own.")

    def of(self, region: str) -> int:
        return int(getattr(self, region)) if region in type(self).model_fields else self.other


class Contact(SoulSection):
    """A person or a channel that can act where the soul can't."""

    name: DisplayName = Field(description="What people call them.")
    slack: SlackId = Field(description="Their Slack id: U… or W… for a person, C… or G… for a channel.")
    can: Line = Field(description="What they can do, in one sentence.")


class SuggestedPrompt(SoulSection):
    """A first message that a person is offered where they open the talk with the soul."""

    title: Annotated[Line, Field(max_length=LONGEST_LABEL)] = Field(description="What is on the button.")
    message: Annotated[Line, Field(max_length=LONGEST)] = Field(description="The message that it sends.")
    language: str = Field(
        "",
        pattern=r"(?:[a-z]{2,3}(?:-[a-z0-9]{2,8}){0,3})?",
        description="For people with this language in Slack, such as `de`; empty: for all who have none of their own.",
    )


def suggestions_for(all_of_them: Sequence[SuggestedPrompt], language: str) -> tuple[Suggestion, ...]:
    """Return the prompts for a language tag such as `de-AT`: its own, else those of `de`, of all, or none."""
    tag = language.lower().replace("_", "-")
    while not (found := [one for one in all_of_them if one.language == tag]) and tag:
        tag = tag.rpartition("-")[0]
    return tuple(Suggestion(one.title, one.message) for one in found[:MOST])


class Models(SoulSection):
    """The prefixed model ids that this soul uses instead of those in the settings. Empty means the settings'."""

    persona: str = Field("", description="The model that speaks, such as `anthropic/…`; empty: the settings'.")
    thinking: str = Field("", description="The model that thinks in silence; empty: the settings'.")
    persona_standby: str = Field("", description="The model that speaks when the first is down; empty: the settings'.")
    thinking_standby: str = Field("", description="The model that thinks when the first is down; empty: the settings'.")
    steps: tuple[tuple[str, str], ...] = Field(
        (), description="Models of single cognitive steps, by the step's name; the others keep to their part's."
    )

    @field_validator("steps", mode="before")
    @classmethod
    def _as_pairs(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        for step, model in value.items():
            if not isinstance(model, str) or not model.strip():
                raise ValueError(f"{step} must be the prefixed id of a model")
        return tuple((step, model.strip()) for step, model in value.items())


class SpeakingFirst(SoulSection):
    """The soul's ways to speak without a message to answer, and to answer without words."""

    speaks_when_dormant: bool = Field(False, description="Whether it may say something into a silence.")
    says_farewell: bool = Field(False, description="Whether it takes its leave aloud when a visit ends.")
    introduces_itself: bool = Field(True, description="Whether it says who it is in a channel that it is invited to.")
    nod: Emoji = Field(
        "",
        description='With `mind = "cycle"`: the emoji, such as `thumbsup`, by which it answers what needs no words; '
        "needs the scope reactions:write. Empty: it always answers in words.",
    )


PLACEHOLDERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"returning": ("pause", "number"), "ready": ("contacts",)}
)
"""The placeholders in braces that a stance may hold, by mental process. The process fills in the facts."""

NEEDED: Mapping[str, tuple[str, ...]] = MappingProxyType({"ready": ("contacts",)})
"""The placeholders without which a stance can't do its work."""

MOST_FILES = 64

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def read_states(
    root: Path, folder: Path, processes: Collection[str] | None
) -> tuple[tuple[tuple[str, str], ...], list[str]]:
    """Return the stances of a soul's folder by mental process, and their faults.

    Without `processes` any name counts as that of a mental process. Raises SoulError for unreadable files.
    """
    files, states, faults = state_files(folder), list[tuple[str, str]](), list[str]()
    if len(files) > MOST_FILES:
        return (), [f"{STATES}/: has {len(files)} files; at most {MOST_FILES} are read"]
    for file in files:
        called = f"{STATES}/{file.name}"
        if why := _why_no_state(file, processes):
            faults.append(f"{called}: {why}")
            continue
        text = read_text(root, file).strip()
        faults += [f"{called}{fault}" for fault in _faults(file.stem, text)]
        states.append((file.stem, text))
    return tuple(states), faults


def filled(stance: str, facts: Mapping[str, str]) -> str:
    """Fill in the facts for a stance's placeholders. Braces around anything else stay."""
    return _PLACEHOLDER.sub(lambda found: facts.get(found[1], found[0]), stance)


def _why_no_state(file: Path, processes: Collection[str] | None) -> str:
    if file.suffix != ".md":
        return "is not read; a stance is a text file called <state>.md"
    if processes is None or file.stem in processes:
        return ""
    close = difflib.get_close_matches(file.stem, sorted(processes), n=1)
    meant = f"did you mean {close[0]}.md?" if close else f"there are {', '.join(sorted(processes)) or 'none'}"
    return f"there is no state {file.stem!r}; {meant}"


def _faults(state: str, text: str) -> Iterator[str]:
    if not text:
        yield ": is empty; write the stance, or remove the file"
        return
    allowed = PLACEHOLDERS.get(state, ())
    for number, line in enumerate(text.splitlines(), start=1):
        for name in _PLACEHOLDER.findall(line):
            if name not in allowed:
                there = ", ".join(f"{{{one}}}" for one in allowed) or "none"
                yield f":{number}: {{{name}}} is no placeholder of this state; there is {there}"
    for name in NEEDED.get(state, ()):
        if f"{{{name}}}" not in text:
            yield f": lacks {{{name}}}, where the daemon puts what only it knows"
