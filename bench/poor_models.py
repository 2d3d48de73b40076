"""Three poor models: one never writes an element, one always meets its output limit, one thinks aloud."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from bench.thinker import Thinker, tagged

KINDS: Final = ("prose", "limit", "aloud")
PRIVATE: Final = "zanzibar"
_ENDLESS: Final = "And there is more to be said of the pump house, pump by pump, valve by valve. " * 1_000
_REASONING: Final = f"They must not know of {PRIVATE}. Let me see what they are after."
_REPLY: Final = "The second pump was left running over the weekend, which is why the figures look so odd."


@dataclass(slots=True)
class PoorModel:
    """Answers requests as the `Thinker` does, in its own poor way; JSON it writes well.

    The one that thinks aloud ends its reasoning with a closing mark that has no opening one, as behind a server that
    puts the opening mark into the prompt.
    """

    kind: str
    thinker: Thinker = field(default_factory=Thinker)

    def answer(self, body: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """The text of the answer and the usage to be reported."""
        text, usage = self.thinker.answer(body)
        if body.get("response_format"):
            return text, usage
        elements = any("<stimulus_verb" in one["content"] for one in body["messages"] if one["role"] == "system")
        match self.kind:
            case "prose":
                return _REPLY, usage
            case "limit":
                return (tagged(_ENDLESS, _REASONING) if elements else _ENDLESS), usage
            case _:
                spoken = tagged(_REPLY, _REASONING) if elements else _REPLY
                return f"{_REASONING}\n</think>\n\n{spoken}", usage
