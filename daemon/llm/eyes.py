"""A prompt's messages as a model can take them: with their pictures, or with a word that it can't see them."""

from dataclasses import replace
from typing import Final

from daemon.core.errors import CannotSee
from daemon.core.ports.models import Message, Prompt
from daemon.llm.messages import chat_of
from daemon.llm.model_id import ModelId

UNSEEN: Final = (
    "(Here {number} shown to you, and you can't see pictures. Say so if it matters, and invent nothing of what may be "
    "on them.)"
)


def seen_by(model: ModelId, prompt: Prompt, sees: bool) -> list[Message]:
    """The messages for a model. Raises CannotSee where the prompt is about pictures and the model sees none."""
    chat = chat_of(prompt)
    if sees:
        return chat
    if prompt.needs_eyes:
        raise CannotSee(f"{model.full} sees no pictures", hint="choose a model that does, or one that stands by")
    return [_without_pictures(each) for each in chat]


def _without_pictures(message: Message) -> Message:
    if not message.images:
        return message
    number = "a picture was" if len(message.images) == 1 else f"{len(message.images)} pictures were"
    return replace(message, text=f"{message.text}\n\n{UNSEEN.format(number=number)}", images=())
