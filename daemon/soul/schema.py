"""The schema of a soul: every field of `soul.toml` and `mode.toml` with its meaning, bounds and default."""

import re
from itertools import accumulate
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_validator

from daemon.core.sentences import Suggestion, house_suggestions
from daemon.core.sentences import Words as HouseWords
from daemon.core.working_memory import estimate_tokens
from daemon.soul.field_types import (
    Budgets,
    ChannelId,
    Contact,
    ContextKeys,
    DisplayName,
    Line,
    Models,
    OptionalWords,
    Physio,
    PrivateVerbs,
    ProcessName,
    ProcessNames,
    SoulSection,
    SpeakingFirst,
    SuggestedPrompt,
    Words,
    matching,
    no_repeats,
    repeated_in,
    suggestions_for,
)
from daemon.soul.words import WordsByLanguage, words_in

FOLDER_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
"""The pattern of names for a soul or a mode, since both are folders."""

_ICON = re.compile(r"(?::[\w+'-]{1,100}:){1,2}|https://[^\s<>|\"]{3,}")


def _fitting(lines: tuple[str, ...], left: int) -> tuple[str, ...]:
    sizes = accumulate(estimate_tokens(line) for line in lines)
    return tuple(line for line, size in zip(lines, sizes, strict=True) if size <= left)


NAMED_TRIGGERS, NAMED_HINTS = 120, 40
"""The most tokens of a mode's triggers, and of its hints, that the model reads in every call."""

_NAMED = 4  # verbs of each kind


class VerbsInMood(SoulSection):
    """The verbs of one mood. An empty list means the general ones."""

    speech: OptionalWords = Field((), description="How it speaks in this mood; empty: as always.")
    thought: Annotated[PrivateVerbs, AfterValidator(no_repeats)] = Field(
        (), description="How it thinks in this mood; empty: as always."
    )
    status: OptionalWords = Field(
        (), description="What it is shown to do while it thinks in this mood; empty: as always."
    )


class Verbs(SoulSection):
    """The verbs of the soul's speech and thought, in the past tense: suggestions for the model, not a closed list.

    `when` holds pairs of an emotional state and its verbs.
    """

    speech: Words = Field(("said", "explained", "offered"), description="How it speaks; the first is the usual one.")
    thought: Annotated[PrivateVerbs, Field(min_length=1)] = Field(
        ("thought", "mused", "pondered"), description="How it thinks; the first is the usual one."
    )
    status: Words = Field(
        ("thinking",), description="What it is shown to do while it thinks, behind its name and *is*: one is chosen."
    )
    when: tuple[tuple[str, VerbsInMood], ...] = Field((), description="Verbs for a mood of `emotional_states`.")

    @field_validator("when", mode="before")
    @classmethod
    def _as_pairs(cls, value: object) -> object:
        return tuple(value.items()) if isinstance(value, dict) else value

    @property
    def named_speech(self) -> tuple[str, ...]:
        return self.speech[:_NAMED]

    @property
    def named_thought(self) -> tuple[str, ...]:
        return self.thought[:_NAMED]


class Mode(SoulSection):
    """A second personality for some kinds of work: a folder `souls/<soul>/<name>/` with soul.md and maybe mode.toml.

    `personality` is the text of its soul.md. The poetic mode of seed 000 has all three lists, others may have none.
    """

    name: Annotated[str, matching(FOLDER_NAME.pattern, "use lower-case letters, digits, - and _")]
    personality: Annotated[str, Field(min_length=1)]
    description: Annotated[str, Field(max_length=500)] = Field("", description="What this mode is, for people.")
    registers: OptionalWords = Field((), description="The forms it composes in, one of which is chosen for a piece.")
    image_domains: OptionalWords = Field((), description="The worlds its images come from.")
    hints: Annotated[tuple[Line, ...], Field(max_length=48, strict=False)] = Field(
        (),
        description="Words that may point to this mode; the model weighs them, and none decides by itself.",
    )
    triggers: Annotated[tuple[Line, ...], Field(max_length=24, strict=False)] = Field(
        (),
        description="What calls it: statements about what the person said or wants, one of which has to be true.",
    )

    @property
    def named_triggers(self) -> tuple[str, ...]:
        return _fitting(self.triggers, NAMED_TRIGGERS)

    @property
    def named_hints(self) -> tuple[str, ...]:
        return _fitting(self.hints, NAMED_HINTS)


class IsmLimits(SoulSection):
    """The limits of this soul's autonomous loop (seed 001). None leaves a limit to the settings."""

    enabled: bool | None = Field(
        None, description="Whether hard problems may be solved by its own choice of actions; unset: as in the settings."
    )
    max_loops: Annotated[int, Field(ge=1, le=50)] | None = Field(
        None, description="Choices of actions in one problem; unset: as in the settings."
    )
    max_tokens: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Tokens, in and out, for one problem; unset: as in the settings."
    )
    max_usd: Annotated[float, Field(gt=0)] | None = Field(
        None, description="US dollars for one problem; unset: as in the settings."
    )
    max_seconds: Annotated[float, Field(gt=0)] | None = Field(
        None, description="Seconds for one problem; unset: as in the settings."
    )
    goal: Annotated[str, Field(max_length=300)] = Field(
        "", description="What it works towards on a hard problem, in one sentence; empty: to help with the problem."
    )
    expert: ProcessName = Field("academic", description="The process that Escalate hands a problem over to.")


class InnerLife(SoulSection):
    """The limits of the soul's unasked thoughts (seed 002), which may only lower those of the settings."""

    enabled: bool | None = Field(
        None,
        description='Whether it thinks unasked about what is due, where its `mind` is "cycle"; unset: as '
        "in the settings.",
    )
    role: Literal["persona", "thinking"] = Field(
        "persona", description="The model of these thoughts: that which speaks, or that which thinks (cheaper)."
    )
    tokens_hour: Annotated[int, Field(ge=0)] | None = Field(
        None, description="Tokens, in and out, for such thoughts in an hour; unset: as in the settings."
    )
    tokens_day: Annotated[int, Field(ge=0)] | None = Field(
        None, description="Tokens, in and out, for such thoughts in a day; unset: as in the settings."
    )
    usd_day: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = Field(
        None, description="US dollars for such thoughts in a day; unset: as in the settings."
    )


class Mood(SoulSection):
    """The fading of an emotional state to the soul's rest."""

    half_life_minutes: Annotated[float, Field(gt=0, le=100_000)] = Field(
        120.0, description="Minutes after which half of a mood is gone."
    )


class Notes(SoulSection):
    """The rules for notes about users: the gates of seed 000's `modelsTheVisitor`."""

    min_interactions: Annotated[int, Field(ge=0, le=1000)] = Field(
        2, description="Messages from a person before anything is noted about them, unless they ask what is known."
    )
    most_lost: Annotated[float, Field(ge=0, le=1)] = Field(
        0.34, description="Share of the notes that one rewrite may drop; one that drops more is refused."
    )
    whispers: bool = Field(True, description="Whether it also keeps its intuitions about a person, for itself alone.")


EpistemicMode = Literal["explore", "hypothesize", "assert", "caution", "reflect"]
EpistemicModes = Annotated[tuple[EpistemicMode, ...], Field(max_length=5, strict=False), AfterValidator(no_repeats)]


class AgentRole(SoulSection):
    """A role that the soul has in some mental processes (`agent_role` of seed 004)."""

    processes: ProcessNames = Field((), description="The mental processes in which it has this role.")
    epistemic_modes: EpistemicModes = Field(
        (), description="How it may claim things in this role; another way is asked for anew. Empty: any."
    )


class Extensions(SoulSection):
    """The extensions from other packages, by the names of their entry points. No others are loaded."""

    actions: ProcessNames = Field((), description="Actions of the autonomous loop (`soul_daemon.actions`).")


class Soul(SoulSection):
    """A soul. Everything but the texts of its folder is in soul.toml.

    The texts are `personality`, `modes`, `playbook` (empty for the daemon's), `awakening` (empty for none) and
    `states`. `states` are pairs of a mental process and the stance in it. `words` is read by `daemon.soul.words`.
    `creativity` overrides sampling temperatures by step name. `pipeline` is `unified` (one call whose tagged answer
    holds thought and reply) or `split` (one call per step). Names of processes and subprocesses are not checked here:
    the loader compares them with `KnownNames`.
    """

    name: str = Field(description="The folder's name.")
    display_name: DisplayName = Field(description="What people call it, and the name it writes under.")
    description: Annotated[str, Field(max_length=500)] = Field("", description="Who it is in one sentence, for people.")
    icon: Annotated[str, Field(max_length=500)] = Field(
        "", description="Its picture beside other souls: `:emoji:` or an https address; empty: the app's own."
    )
    personality: Annotated[str, Field(min_length=1)]
    modes: tuple[Mode, ...] = ()
    playbook: str = ""
    awakening: str = ""
    states: tuple[tuple[str, str], ...] = ()
    words: WordsByLanguage = ()
    pipeline: Literal["unified", "split"] = Field(
        "unified", description="`unified`: one call per message. `split`: one call per step, slower and dearer."
    )
    mind: Literal["process", "cycle"] = Field(
        "process",
        description="`process`: it answers in words by its pipeline. `cycle`: each reply is the speech of one whole "
        "thought, with what it expects, holds and feels (docs/MIND.md).",
    )
    values: OptionalWords = Field(
        (), description="What it holds to, such as `honesty`, where its mind is `cycle`; it may adopt others."
    )
    emotional_states: Annotated[Words, AfterValidator(no_repeats)] = Field(
        ("neutral",), description="The moods it knows; the first is its rest."
    )
    physio: Physio = Field(
        (), description="What each mood is in the body, kept with what it sees: `[physio.curious]` `dopamine = 0.7`."
    )
    processes: ProcessNames = Field((), description="The mental processes it may be in; empty: all there are.")
    subprocesses: ProcessNames = Field(
        (
            *("looks_at_what_was_shown", "models_the_visitor", "keeps_its_own_state", "thinks_the_matter_over"),
            *("summarizes_the_conversation", "closes_the_visit"),
        ),
        description="What it does after a reply, in this order, and after a visit; empty: nothing but look at files.",
    )
    channels: Annotated[tuple[ChannelId, ...], Field(max_length=500, strict=False), AfterValidator(no_repeats)] = Field(
        (), description="Ids of the Slack channels in which this soul answers rather than the main one."
    )
    shared_contexts: ContextKeys = Field(
        (), description="Keys of the shared contexts that this soul knows of, besides those of `SHARED_CONTEXTS`."
    )
    models: Models = Models()
    budgets: Budgets = Budgets()
    creativity: tuple[tuple[str, float], ...] = Field(
        (), description="Sampling temperatures from 0 to 1 by the name of a cognitive step."
    )
    verbs: Verbs = Verbs()
    mood: Mood = Mood()
    presence: SpeakingFirst = SpeakingFirst()
    notes: Notes = Notes()
    ism: IsmLimits = IsmLimits()
    cycle: InnerLife = InnerLife()
    extensions: Extensions = Extensions()
    max_usd_a_day: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = Field(
        None, description="US dollars that it may spend in a day; the lower of this and SOUL_MAX_USD_A_DAY counts."
    )
    suggestions: Annotated[tuple[SuggestedPrompt, ...], Field(max_length=100, strict=False)] = Field(
        (), description="What people are shown to begin with, the first four of a language; empty: the house's three."
    )
    roles: tuple[tuple[DisplayName, AgentRole], ...] = ()
    contacts: Annotated[tuple[Contact, ...], Field(max_length=50, strict=False)] = Field(
        (), description="People and places that can act where the soul can't."
    )

    @field_validator("roles", mode="before")
    @classmethod
    def _roles_as_pairs(cls, value: object) -> object:
        return tuple(value.items()) if isinstance(value, dict) else value

    @field_validator("roles")
    @classmethod
    def _one_role_each(cls, value: tuple[tuple[str, AgentRole], ...]) -> tuple[tuple[str, AgentRole], ...]:
        if repeated := repeated_in(process for _, role in value for process in role.processes):
            raise ValueError(f"two of them are for the process {repeated!r}; a process has one role")
        return value

    @field_validator("icon")
    @classmethod
    def _showable(cls, value: str) -> str:
        if value and not _ICON.fullmatch(value):
            raise ValueError("must be :emoji: or an address that begins with https://")
        return value

    @field_validator("creativity", mode="before")
    @classmethod
    def _as_pairs(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        for step, figure in value.items():
            if isinstance(figure, bool) or not isinstance(figure, int | float) or not 0 <= figure <= 1:
                raise ValueError(f"{step} must be a number from 0 to 1")
        return tuple((step, float(figure)) for step, figure in value.items())

    @field_validator("contacts")
    @classmethod
    def _distinct_names(cls, value: tuple[Contact, ...]) -> tuple[Contact, ...]:
        if repeated := repeated_in(contact.name.casefold() for contact in value):
            raise ValueError(f"two are called {repeated!r}; give each a name of its own")
        return value

    @property
    def rest_state(self) -> str:
        return self.emotional_states[0]

    def creativity_of(self, step: str, default: float | None) -> float | None:
        return dict(self.creativity).get(step, default)

    def mode(self, name: str) -> Mode | None:
        return next((mode for mode in self.modes if mode.name == name), None)

    def physio_in(self, state: str) -> dict[str, float]:
        """Return the bodily levels of a mood from `[physio]`, empty without any."""
        return dict(dict(self.physio).get(state, ()))

    def verbs_in(self, state: str) -> Verbs:
        """Return the verbs of a mood, or the general ones where the mood has none."""
        coloured = dict(self.verbs.when).get(state, VerbsInMood())
        return Verbs(
            speech=coloured.speech or self.verbs.speech,
            thought=coloured.thought or self.verbs.thought,
            status=coloured.status or self.verbs.status,
        )

    @property
    def private_verbs(self) -> tuple[str, ...]:
        coloured = (verb for _, verbs in self.verbs.when for verb in verbs.thought)
        return tuple(dict.fromkeys((*self.verbs.thought, *coloured)))

    def role_in(self, process: str) -> tuple[str, AgentRole] | None:
        """Return the name of the role that the soul has in a mental process, and the role, None without one."""
        return next((one for one in self.roles if process in one[1].processes), None)

    def stance(self, process: str) -> str:
        """Return the soul's own instruction for a mental process, with its placeholders, empty for the daemon's."""
        return dict(self.states).get(process, "")

    def suggestions_in(self, language: str) -> tuple[Suggestion, ...]:
        return suggestions_for(self.suggestions, language) or house_suggestions(self.words_in(language))

    def words_in(self, language: str) -> HouseWords:
        return words_in(self.words, language)

    def may_be(self, process: str) -> bool:
        return not self.processes or process in self.processes
