"""Tell: send another soul a note; its answer is perceived in this conversation (seed 003)."""

from daemon.core.notes import NoteRefused, checked_words
from daemon.core.telemetry.redaction import remove_keys
from daemon.ism.machine import Action, ActionUse, Recurse
from daemon.mind.answer_filter import words_aloud
from daemon.mind.mental_process import ProcessContext


def tell(context: ProcessContext) -> Action | None:
    """The input is a soul's name, a colon and the note; None where there is no other soul to send one to."""
    notes = context.cycle.notes
    if notes is None or not notes.souls:
        return None

    async def handle(use: ActionUse) -> Recurse:
        given, _, rest = use.input.partition(":")
        name = given.strip().casefold()
        if name not in notes.souls:
            souls = ", ".join(notes.souls)
            return use.recurse(observation=f"There is no such soul here now. Give one of {souls}, a colon and words.")
        try:
            words = checked_words(remove_keys(words_aloud(rest)))
        except NoteRefused as refused:
            return use.recurse(observation=f"Nothing was sent: {refused.message}. {refused.hint}.")
        why_not = await notes.why_not(name, context.motor.sends_to(name))
        context.motor.send_note(notes.note(name, words, why_not))
        if why_not:
            return use.recurse(observation=f"The note is refused: {why_not}.")
        return use.recurse(
            observation=f"{name} gets the note once you answer, and answers later, by itself. Don't wait for it."
        )

    return Action(
        "Tell",
        f"send a note to another soul ({', '.join(notes.souls)}), which may answer later; nothing else of this talk is "
        "known to it; input: its name, a colon and the note",
        handle,
    )
