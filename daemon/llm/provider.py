"""What every adapter owes the router."""

from collections.abc import AsyncGenerator
from typing import Protocol

from daemon.core.ports import LLM, Completion, Prompt
from daemon.llm.model_id import ModelId


class Provider(Protocol):
    """One way of asking a model; an adapter holds a wire protocol and nothing else: no retries, deadlines or limits."""

    def stream(self, model: ModelId, prompt: Prompt) -> AsyncGenerator[str | Completion, None]:
        """Yield text as it arrives, then exactly one Completion.

        An empty string is a sign of life (the model is thinking). Closing the generator, or cancelling whoever waits
        on it, cuts the connection. Raises ModelUnavailable (also when the answer broke off) or ModelRefused (also when
        the model declined before it said anything; later than that the Completion's `stop` is `refusal`).
        """

    async def aclose(self) -> None:
        """Let go of all connections; calls under way fail."""


class ClosableLLM(LLM, Protocol):
    """An `LLM` that may hold connections."""

    async def aclose(self) -> None:
        """Let go of them."""
