"""The interface between the router and its adapters."""

from collections.abc import AsyncGenerator
from typing import Protocol

from daemon.core.ports.models import LLM, Completion, Prompt
from daemon.llm.model_id import ModelId


class Provider(Protocol):
    """A wire protocol and nothing else: no retries, deadlines or limits."""

    def stream(self, model: ModelId, prompt: Prompt) -> AsyncGenerator[str | Completion, None]:
        """Yield text as it arrives, then exactly one Completion.

        An empty string is a sign of life: the model is thinking. Closing the generator, or cancelling the task that
        waits on it, closes the connection. Raises ModelUnavailable (also for an answer that broke off) or ModelRefused
        (also when the model declined before its first text; after that the Completion's `stop` is `refusal`).
        """

    async def aclose(self) -> None:
        """Close all connections; calls in progress fail."""


class ClosableLLM(LLM, Protocol):
    """An `LLM` that may hold connections."""

    async def aclose(self) -> None:
        """Close them."""
