"""What the daemon tells a workflow whose step gets no answer: a part of the table of sentences."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

ABOUT_STEPS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "step_title": "Ask the soul",
        "step_shows": "Answers a question from what everybody in the workspace may know.",
        "step_question": "Question",
        "step_answer": "Answer",
        "step_empty": "This step gave me no question. Give its field `question` a text, then run the workflow again.",
        "step_off": "My admin has switched off questions of workflows. To switch them on, they set "
        "`SOUL_WORKFLOW_STEP=true` and restart me.",
        "step_late": "This question reached me too late to be answered. Run the workflow again if it still matters.",
        "step_unanswered": "I could not answer this: the model failed, or what I may spend is used up. Run the "
        "workflow again later; my admin finds the reason in my log.",
    }
)
