"""The tests' builders: what a test is given to begin with, and prompts as text."""

from daemon.core.ports import Prompt
from daemon.core.working_memory import estimate_tokens

OPENING = '<internal_monologue verb="thought">Hm.</internal_monologue><external_dialogue verb="said">'
CLOSING = "</external_dialogue>"


def tagged(reply: str, *, monologue: str = "Let me see.", learned: bool = False, moved: bool = False) -> str:
    """An answer in the form of the fixed pipeline; `learned` and `moved` are its two checks."""
    return (
        "<stimulus_verb>asked</stimulus_verb>\n"
        f'<internal_monologue verb="thought">{monologue}</internal_monologue>\n'
        f'<external_dialogue verb="said">{reply}</external_dialogue>\n'
        f"<user_model_check>{str(learned).lower()}</user_model_check>\n"
        f"<soul_state_check>{str(moved).lower()}</soul_state_check>"
    )


def shown(prompt: Prompt) -> str:
    """All text of a prompt."""
    return "\n".join([part.text for part in prompt.system] + [message.text for message in prompt.messages])


def tokens(prompt: Prompt) -> int:
    """The estimated length of a prompt in tokens."""
    return sum(estimate_tokens(part.text) for part in prompt.system) + sum(
        estimate_tokens(message.text) for message in prompt.messages
    )
