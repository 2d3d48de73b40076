"""Somebody wants a session of Claude Code asked: one step names session and words, the daemon does what is typed else.

No model words the reply: what is said of it is what *ask NAME: …* says, with the words as the session reads them.
"""

from daemon.core.errors import ModelError
from daemon.core.perception import Modality
from daemon.core.phrases import Command, Phrase
from daemon.core.telemetry.redaction import remove_keys
from daemon.core.text import shortened
from daemon.core.working_memory import Memory, Role
from daemon.ism.permission import code_block, plain_sight
from daemon.mind.answer_filter import words_aloud
from daemon.mind.destinations import newest_words
from daemon.mind.fixed_pipeline import converse
from daemon.mind.mental_process import Outcome, ProcessContext, Transition
from daemon.mind.quotation import own_words_from
from daemon.mind.stances import stance_of
from daemon.mind.steps.liaise import SessionRequest, liaise, with_those_to_ask
from daemon.shared.who_works import listed

_LONGEST_PROPOSAL = 500  # characters of words that a model proposes


async def liaising(context: ProcessContext) -> Outcome:
    """Put what they want to the session, or say why not, and go back to `engaged`."""
    if context.cycle.put_to_session is None or context.perception.modality is not Modality.WORDS:
        reply = await converse(context, stance_of(context.soul, "liaising"))
        return reply if isinstance(reply, Transition) else Transition(reply, "engaged", "no session may be asked here")
    said = await _put(context)
    context.motor.add_below(said)
    memory = context.memory.with_memory(Memory(Role.ASSISTANT, said, name=context.soul.display_name))
    return Transition(memory, "engaged", "what became of it has been said")


async def _put(context: ProcessContext) -> str:
    """What is said of it. Raises StoreError."""
    put, sessions = context.cycle.put_to_session, [one for one in context.cycle.at_work if one.may_be_asked]
    try:
        _, asked = await context.mind.run(with_those_to_ask(context.memory, sessions), liaise())
    except ModelError:
        return _unclear(context)
    if put is None or not asked.session or not asked.words:
        return _unclear(context)
    words = own_words_from(asked.words, newest_words(context), asked.session)
    command = Command.HAND if asked.task else Command.ASK
    text, act = await put(Phrase(command, words=words, name=asked.session))
    if act is not None:
        context.motor.decide(act)
        return f"{text}\n\n{code_block(plain_sight(remove_keys(words)))}"
    is_there = any(one.name.casefold() == asked.session.casefold() for one in sessions)
    return _proposal(context, command, asked) if is_there and not words else text


def _unclear(context: ProcessContext) -> str:
    """What is said where it can't be made out: how to type it, and which sessions there are."""
    say = context.motor.words.say
    return f"{say('ask_unclear')}\n\n{listed(context.cycle.at_work, context.motor.words)}"


def _proposal(context: ProcessContext, command: Command, asked: SessionRequest) -> str:
    """Words that are not the person's own go to no session: they are shown, so that the person can say them."""
    proposed = shortened(remove_keys(words_aloud(asked.words)), _LONGEST_PROPOSAL)
    typed = code_block(plain_sight(f"{command} {asked.session}: {proposed}"))
    return f"{context.motor.words.say('ask_own_words')}\n\n{typed}"
