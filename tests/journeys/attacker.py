"""The part of a prompt that a model takes orders from: no text of a user may stand there."""

import re

from daemon.core.ports.services import Prompt, Speaker

_FENCED = re.compile(r"<(?P<fence>(?:said|note)-\w+)[^>]*>.*?</(?P=fence)>", re.DOTALL)


def bare(prompt: Prompt) -> str:
    """The text of a prompt outside of fences, without the soul's own earlier replies."""
    texts = [message.text for message in prompt.messages if message.speaker is Speaker.USER]
    return "\n".join(_FENCED.sub("", text) for text in (*(part.text for part in prompt.system), *texts))
