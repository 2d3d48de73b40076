"""Token counts and stop reason of one call, collected while it streams."""

from dataclasses import dataclass

from daemon.core.errors import ModelRefused, ModelUnavailable
from daemon.core.ports.models import Completion
from daemon.llm.model_id import ModelId


@dataclass(slots=True)
class CallUsage:
    """Counts for one call. SDKs don't validate what they stream, so every value's type is checked here.

    `stop` is `end`, `length` or `refusal`, and None until the provider gives the reason.
    """

    model: ModelId
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_written: int = 0
    tokens_out: int = 0
    stop: str | None = None
    has_text: bool = False

    def text(self, value: object) -> str:
        """A piece of the answer; None becomes ''. Raises TypeError for any other type."""
        if value is None:
            return ""
        if not isinstance(value, str):
            raise TypeError(f"a piece of text arrived as {type(value).__name__}")
        self.has_text = self.has_text or bool(value)
        return value

    def completion(self) -> Completion:
        """The call's Completion.

        Raises ModelUnavailable for an answer that broke off, ModelRefused when the model declined without any text.
        """
        if self.stop is None:
            raise ModelUnavailable(f"{self.model.full} broke off in the middle of its answer", hint="try again")
        if self.stop == "refusal" and not self.has_text:
            raise ModelRefused(f"{self.model.full} declined to answer", hint="word the request differently")
        return Completion(
            self.model.full, self.tokens_in, self.tokens_cached, self.tokens_out, self.stop, self.tokens_written
        )


def count(value: object) -> int:
    """A number of tokens; 0 when the provider sent none or an invalid value."""
    return value if isinstance(value, int) and value > 0 else 0
