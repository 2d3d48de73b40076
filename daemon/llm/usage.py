"""What is learned about a call while its answer passes by, whatever the protocol."""

from dataclasses import dataclass

from daemon.core.errors import ModelRefused, ModelUnavailable
from daemon.core.ports import Completion
from daemon.llm.model_id import ModelId


@dataclass(slots=True)
class CallUsage:
    """Counts for one call; SDKs don't validate what they stream, so nothing is believed to have its declared type.

    `stop` is `end`, `length` or `refusal` once the provider said why it stopped, and None until then.
    """

    model: ModelId
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    stop: str | None = None
    spoke: bool = False

    def text(self, value: object) -> str:
        """A piece of the answer; None is an empty one. Raises TypeError when it is no text."""
        if value is None:
            return ""
        if not isinstance(value, str):
            raise TypeError(f"a piece of text arrived as {type(value).__name__}")
        self.spoke = self.spoke or bool(value)
        return value

    def completion(self) -> Completion:
        """The call's last word.

        Raises ModelUnavailable for an answer that broke off, ModelRefused for one declined before a word was said.
        """
        if self.stop is None:
            raise ModelUnavailable(f"{self.model.full} broke off in the middle of its answer", hint="try again")
        if self.stop == "refusal" and not self.spoke:
            raise ModelRefused(f"{self.model.full} declined to answer", hint="say it differently")
        return Completion(self.model.full, self.tokens_in, self.tokens_cached, self.tokens_out, self.stop)


def count(value: object) -> int:
    """A number of tokens; zero when the provider left it out or sent nonsense."""
    return value if isinstance(value, int) and value > 0 else 0
