"""Prompts and readers that the tests of language models share."""

from collections.abc import AsyncIterator, Mapping

from daemon.core.errors import ModelError
from daemon.core.ports.services import LLM, Completion, Effort, Message, ModelRole, Prompt, Speaker, SystemPart

SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {"verb": {"type": "string", "maxLength": 20}, "count": {"type": "integer", "minimum": 1}},
    "required": ["verb"],
}


def prompt(
    *said: str,
    system: tuple[SystemPart, ...] = (SystemPart("You are kind.", stable=True), SystemPart("It is noon.")),
    schema: Mapping[str, object] | None = None,
    creativity: float | None = None,
    role: ModelRole = ModelRole.PERSONA,
    tokens: int = 512,
    effort: Effort | None = None,
    model: str = "",
    standby: bool = False,
    cached: int | None = None,
) -> Prompt:
    """A prompt whose messages are the texts, user and assistant in turn; `cached` is the place of a marked one."""
    speakers = (Speaker.USER, Speaker.ASSISTANT)
    texts = enumerate(said or ("hello",))
    messages = tuple(Message(speakers[place % 2], text, cached=place == cached) for place, text in texts)
    return Prompt(
        role, "test step", system, messages, schema, creativity, tokens, effort=effort, model=model, standby=standby
    )


async def answer(llm: LLM, asked: Prompt) -> tuple[str, Completion]:
    """The whole text and the completion; fails unless there is exactly one completion and it comes last."""
    items = [item async for item in llm.stream(asked)]
    texts = [item for item in items[:-1] if isinstance(item, str)]
    assert len(texts) == len(items) - 1
    assert isinstance(items[-1], Completion)
    return "".join(texts), items[-1]


async def fault(llm: LLM, asked: Prompt | None = None) -> ModelError | None:
    try:
        await answer(llm, asked or prompt())
    except ModelError as error:
        return error
    return None


async def read_until(pieces: AsyncIterator[str | Completion], text: str) -> None:
    """Read on until a text has been seen, passing over signs of life."""
    seen = ""
    while text not in seen:
        piece = await anext(pieces)
        assert isinstance(piece, str)
        seen += piece
