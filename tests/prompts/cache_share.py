"""How much of a prompt was sent before: as a common prefix, and as an endpoint with cache marks reads it."""

from collections.abc import Sequence
from itertools import takewhile

from bench.prefix_cache import MEMORIES
from daemon.core.ports.services import Prompt
from daemon.core.working_memory import estimate_tokens


def whole(prompt: Prompt) -> str:
    """A prompt as one text, in the order in which every protocol sends it, without the region of memories."""
    return "\n\n".join(_blocks(prompt))


def common_share(before: Prompt, after: Prompt) -> float:
    """The share of tokens in the prefix that two prompts have in common."""
    text = whole(after)
    return estimate_tokens(_common(whole(before), text)) / estimate_tokens(text)


def marked_share(before: Sequence[Prompt], after: Prompt) -> float:
    """The share of tokens up to the last block behind which an earlier prompt had a mark, all blocks being the same."""
    blocks, read = _blocks(after), 0
    for one in before:
        known = _blocks(one)
        marks = [place for place, marked in enumerate(_marks(one)) if marked]
        read = max([read, *(place + 1 for place in marks if known[: place + 1] == blocks[: place + 1])])
    return estimate_tokens("\n\n".join(blocks[:read])) / estimate_tokens("\n\n".join(blocks))


def _common(one: str, other: str) -> str:
    same = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return other[: sum(1 for _ in same)]


def _blocks(prompt: Prompt) -> list[str]:
    system = [part.text for part in prompt.system]
    return system + [f"{one.speaker}: {MEMORIES.sub('', one.text)}" for one in prompt.messages]


def _marks(prompt: Prompt) -> list[bool]:
    return [part.stable for part in prompt.system] + [one.cached for one in prompt.messages]
