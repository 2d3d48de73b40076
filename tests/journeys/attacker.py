"""What an attacker would like to have written into: the part of a prompt that a model takes orders from."""

import re

from daemon.core.ports import Prompt, Speaker

_FENCED = re.compile(r"<(?P<fence>(?:said|note)-\w+)[^>]*>.*?</(?P=fence)>", re.DOTALL)


def bare(prompt: Prompt) -> str:
    """Everything in a prompt that stands outside of fences and isn't the soul's own earlier words."""
    told = [message.text for message in prompt.messages if message.speaker is Speaker.USER]
    return "\n".join(_FENCED.sub("", text) for text in (*(part.text for part in prompt.system), *told))
