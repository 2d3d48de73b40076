"""A poem is wanted: the poet composes, mends and explains, and stays until the person turns to other matters."""

from daemon.core.errors import ModelError
from daemon.core.step import Step
from daemon.mind.creativity import with_soul_creativity
from daemon.mind.fixed_pipeline import Manner, converse
from daemon.mind.mental_process import Outcome, ProcessContext, Stay, Transition
from daemon.mind.piece import NAMES_IT, MadePiece
from daemon.mind.stances import stance_of
from daemon.mind.steps.decision import decision
from daemon.mind.steps.external_dialog import external_dialog
from daemon.mind.steps.poetic_composition import poetic_composition
from daemon.mind.steps.respond import REPLY

_NEW, _MENDED, _SPOKEN_OF, _ATTENTION = "a new piece", "the piece changed", "a word about it", "plain attention"


async def poetic(context: ProcessContext) -> Outcome:
    """Reply as the poet, in the one call of any reply; what was made is kept, so that it can be mended and explained.

    When the model says that the person has turned to other matters, `engaged` answers.
    """
    mode = context.soul.mode("poetic")
    if mode is None:  # its folder was removed while the conversation was in this process
        return Transition(context.memory, "engaged", "the soul has no poetic mode any more", execute_now=True)
    piece = MadePiece.kept(context.state.process_memory)
    stance = stance_of(context.soul, "poetic")
    reply = await converse(context, stance, mode, keep_in_mind=piece.in_mind, manner=Manner(_step_by_step, NAMES_IT))
    if isinstance(reply, Transition):
        return reply
    told = context.motor.annotations.get("made_piece")
    if told is not None or context.motor.annotations.get("calls_for") == "poem":
        piece = piece.made(context.motor.said, str(told or ""), mode)
        context.motor.annotate(register=piece.register or None, image_domain=piece.images or None)
    return Stay(reply, process_memory=piece.to_json())


async def _step_by_step(context: ProcessContext) -> Step[str]:
    """Where each step is a call of its own, what they want is decided first; a model that fails there composes."""
    asked = decision("What does the person want of the poet now?", (_NEW, _MENDED, _SPOKEN_OF, _ATTENTION))
    try:
        _, wanted = await context.mind.run(context.memory, with_soul_creativity(context.soul, asked))
    except ModelError:
        wanted = _NEW
    if wanted in (_SPOKEN_OF, _ATTENTION):
        return external_dialog(context.soul, REPLY)
    context.motor.annotate(made_piece="")
    return poetic_composition(context.soul, f"They want {wanted}.")
