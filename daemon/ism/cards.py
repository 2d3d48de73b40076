"""What users see of the work: a card for each action, with what is looked for where that is no secret."""

from collections.abc import Sequence

from daemon.core.ports import Passage, Task, TaskState
from daemon.core.text import quoted, shortened
from daemon.ism.actions.read import number_and_page
from daemon.ism.machine import LoopEvent, Progress
from daemon.ism.sources import Sources

_TITLES = {
    "Think": "Thinking it through",
    "Research": "Looking things up",
    "Read": "Opening what was found",
    "Ask": "Asking back",
    "Remind": "Making a note for later",
    "Respond": "Writing the answer",
    "Escalate": "Looking for who can help",
}
_STATES = {
    Progress.STARTED: TaskState.IN_PROGRESS,
    Progress.FINISHED: TaskState.COMPLETE,
    Progress.FAILED: TaskState.ERROR,
    Progress.CUT: TaskState.COMPLETE,
}
_QUERY = 60  # characters of what is looked for in a title
_DETAILS = 300


def card(event: LoopEvent, sources: Sources, found: Sequence[Passage]) -> Task | None:
    """The card after an event of the work; None for what has no card.

    Of what a model wrote it shows what the action says is looked for, and nothing else.
    """
    state = _STATES.get(event.kind)
    if state is None or not event.action:
        return None
    title, details = _words(event, sources, found)
    aside = " (set aside)" if event.kind is Progress.CUT else ""
    return Task(f"{event.loop}.{event.place}", f"{title}{aside}", state, details)


def _words(event: LoopEvent, sources: Sources, found: Sequence[Passage]) -> tuple[str, str]:
    """Title and details."""
    title = _TITLES.get(event.action, event.action)
    if event.action == "Research" and event.sought:
        return f"Looking up {quoted(event.sought, _QUERY)}", f"{shortened(event.sought, _DETAILS)} (in {sources.named})"
    if event.action == "Read":
        number, page = number_and_page(event.sought)
        if 1 <= number <= len(found):
            where = f"Reading {found[number - 1].source}"
            return where if page == 1 else f"{where}, page {page}", f"passage {number}"
    return title, ""
