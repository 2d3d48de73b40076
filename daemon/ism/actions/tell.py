"""The action Tell: send another soul a note, whose answer is perceived in this conversation (seed 003)."""

from daemon.core.notes import NoteRefused, checked_words
from daemon.core.soul_names import shown_names, souls_named, unclear
from daemon.core.telemetry.redaction import remove_keys
from daemon.ism.machine import Action, ActionUse, Recurse
from daemon.mind.process import ProcessContext
from daemon.mind.reply import words_aloud


def tell(context: ProcessContext) -> Action | None:
    """Build the action, or return None without another soul. Its input is a soul's name, a colon and the note."""
    notes = context.cycle.notes
    if notes is None or not notes.souls:
        return None
    souls = shown_names(notes.souls, notes.called)

    async def handle(use: ActionUse) -> Recurse:
        given, _, rest = use.input.partition(":")
        found = souls_named(given, {one: notes.called.get(one, one) for one in notes.souls})
        if len(found) != 1:
            return use.recurse(observation=f"{unclear(found)} Give one of {souls}, a colon and words.")
        [name] = found
        try:
            words = checked_words(remove_keys(words_aloud(rest)))
        except NoteRefused as refused:
            return use.recurse(observation=f"Nothing was sent: {refused.message}. {refused.hint}.")
        why_not = await notes.why_not(name, context.motor.sends_to(name))
        context.motor.send_note(notes.note(name, words, why_not))
        if why_not:
            return use.recurse(observation=f"The note is refused: {why_not}.")
        shown = shown_names(found, notes.called)
        return use.recurse(
            observation=f"{shown} gets the note once you answer, and answers later, by itself. Don't wait for it."
        )

    return Action(
        "Tell",
        f"send a note to another soul ({souls}), which may answer later; nothing else of this talk is "
        "known to it; input: its name, a colon and the note",
        handle,
    )
