"""What the beginning and the end of a session's turn mean for the questions that it reads in its turns."""

from typing import Final

from daemon.core.notes import SharedMessage
from daemon.core.sessions import CodeSession, HookEvent
from daemon.memory.database import Transaction
from daemon.memory.shared.questions import answered_in_turn, began, cut_off, hand_out

_IN_TURNS: Final = frozenset({"UserPromptSubmit", "Stop"})


async def at_the_edge_of_a_turn(
    transaction: Transaction, event: HookEvent, session: CodeSession
) -> SharedMessage | None:
    """Note with what a turn began, or take what was answered in it; gives the question that is to be read now.

    One at a time, and only where its script hands it on at once: else one could not tell whose answer follows. A turn
    that its person stops has no end: its question waits again as soon as another turn is heard of.
    """
    if event.hook == "StopFailure":
        await cut_off(transaction, session.id, "", event.happened_ms, wakes=True)
    elif event.prompt and event.hook in _IN_TURNS:
        await cut_off(transaction, session.id, event.prompt, event.happened_ms, wakes=False)
    if event.note and event.prompt and event.hook == "UserPromptSubmit":
        await began(transaction, session.id, event.note, event.prompt, event.received_ms)
    if not event.ends_turn:
        return None
    if event.said:
        await answered_in_turn(transaction, session.id, event.prompt, event.said, event.received_ms)
    if event.goes_on or not event.at_once or not session.living:
        return None
    return await hand_out(transaction, session.id, event.prompt, event.received_ms)
