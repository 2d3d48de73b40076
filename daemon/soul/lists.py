"""The tables of which a soul's file may have several: contacts, and what people are shown to begin with."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from daemon.core.sentences import LONGEST, LONGEST_LABEL
from daemon.core.suggestions import MOST, Suggestion
from daemon.soul.field_types import DisplayName, Line, SlackId, SoulSection


class Contact(SoulSection):
    """A person or a channel that can act where the soul can't."""

    name: DisplayName = Field(description="What people call them.")
    slack: SlackId = Field(description="Their Slack id: U… or W… for a person, C… or G… for a channel.")
    can: Line = Field(description="What they can do, in one sentence.")


class SuggestedPrompt(SoulSection):
    """A beginning that a person is shown where they open the talk with the soul."""

    title: Annotated[Line, Field(max_length=LONGEST_LABEL)] = Field(description="What is on the button.")
    message: Annotated[Line, Field(max_length=LONGEST)] = Field(description="The message that it sends.")
    language: str = Field(
        "",
        pattern=r"(?:[a-z]{2,3}(?:-[a-z0-9]{2,8}){0,3})?",
        description="For people with this language in Slack, such as `de`; empty: for all who have none of their own.",
    )


def suggestions_for(all_of_them: Sequence[SuggestedPrompt], language: str) -> tuple[Suggestion, ...]:
    """Those for a language tag such as `de-AT`: its own, else those of `de`, else everybody's, else none."""
    tag = language.lower().replace("_", "-")
    while not (found := [one for one in all_of_them if one.language == tag]) and tag:
        tag = tag.rpartition("-")[0]
    return tuple(Suggestion(one.title, one.message) for one in found[:MOST])
