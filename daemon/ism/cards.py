"""The cards that show users the progress of autonomous work."""

from collections.abc import Sequence

from daemon.core.ports.library import Passage
from daemon.core.ports.services import Task, TaskState
from daemon.core.sentences import HOUSE_WORDS, SENTENCES, Words
from daemon.core.text import one_line, shortened
from daemon.ism.actions.read import number_and_page
from daemon.ism.machine import LoopEvent, Progress
from daemon.ism.sources import Sources
from daemon.mind.citations import source_in

_STATES = {
    Progress.STARTED: TaskState.IN_PROGRESS,
    Progress.FINISHED: TaskState.COMPLETE,
    Progress.FAILED: TaskState.ERROR,
    Progress.CUT: TaskState.COMPLETE,
}
_QUERY = 60  # characters of what is looked for in a title
_DETAILS = 300


def card(event: LoopEvent, sources: Sources, found: Sequence[Passage], words: Words = HOUSE_WORDS) -> Task | None:
    """Return the card for an event of the work, or None for an event without a card.

    Of a model's words it shows only the part of an input that the action allows users to see.
    """
    state = _STATES.get(event.kind)
    if state is None or not event.action:
        return None
    title, details = _title_and_details(event, sources, found, words)
    title = words.say("card_set_aside", title=title) if event.kind is Progress.CUT else title
    return Task(f"{event.loop}.{event.place}", title, state, details)


def _title_and_details(event: LoopEvent, sources: Sources, found: Sequence[Passage], words: Words) -> tuple[str, str]:
    if event.action == "Research" and event.sought:
        title = words.say("doing_research_for", query=shortened(one_line(event.sought), _QUERY))
        return title, words.say("looked_in", query=shortened(event.sought, _DETAILS), places=sources.named(words))
    if event.action == "Read":
        number, page = number_and_page(event.sought)
        if 1 <= number <= len(found):
            key = "doing_read_from" if page == 1 else "doing_read_page"
            title = words.say(key, source=source_in(words, found[number - 1].source), page=page)
            return title, words.say("doing_read_passage", number=number)
    key = f"doing_{event.action.lower()}"
    return words.say(key) if key in SENTENCES else event.action, ""
