"""A provider of models: says back what it reads, word by word."""

from collections.abc import AsyncGenerator

from daemon.core.ports.services import Completion, Prompt
from daemon.llm.answers import ModelId
from daemon.llm.endpoint import ProviderExtension
from daemon.llm.placeholder import newest_messages


class Parrot:
    """Implements `Provider`."""

    async def stream(self, model: ModelId, prompt: Prompt) -> AsyncGenerator[str | Completion, None]:
        """See `Provider.stream`."""
        said = " ".join(newest_messages(prompt)) or "nothing"
        if prompt.placeholder:
            yield prompt.placeholder
        elif "<external_dialogue" in "".join(part.text for part in prompt.system):
            yield f'<calls_for>nothing</calls_for><external_dialogue verb="said">Squawk: {said}</external_dialogue>'
        else:
            yield f"Squawk: {said}"
        yield Completion(model.full, tokens_in=1, tokens_out=1)

    async def aclose(self) -> None:
        """See `Provider.aclose`; it holds no connections."""


PARROT = ProviderExtension(Parrot)
