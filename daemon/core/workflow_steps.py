"""The step *Ask the soul* that people build into workflows: its names, and which conversations are steps."""

from typing import Final

from daemon.core.perception import ConversationKey

STEP: Final = "ask_soul"
"""The callback id of the step in the app's manifest."""

QUESTION: Final = "question"
"""What a workflow gives to the step."""

ANSWER: Final = "answer"
"""What the step gives back to it."""

STEP_CHANNEL: Final = "workflow"
"""The channel of the conversations that are steps; each has the id of its execution as its thread."""

LONGEST_QUESTION: Final = 4_000
"""The most characters that are kept of a question."""


def is_step(conversation: ConversationKey) -> bool:
    """Whether a conversation is one execution of the step, in which a workflow alone reads the answer."""
    return conversation.channel == STEP_CHANNEL
