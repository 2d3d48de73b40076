"""What of a request was sent before, by the rules that vendors publish for their caches of prompts.

Requests are in the form of Chat Completions. Every earlier request counts as still kept: vendors keep a prefix for
five minutes at least after its last use. Tokens are the daemon's own estimate.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Final, Protocol

from daemon.core.value import Value
from daemon.core.working_memory import estimate_tokens

MEMORIES: Final = re.compile(r"## Memories\n.*?(?=\n## |\n</context-)", re.DOTALL)
"""The region of a prompt that is looked up anew for each message."""

_SMALLEST: Final = 1024  # tokens of the shortest prefix that OpenAI keeps
_STEP: Final = 128  # and by so many a longer one grows
_LOOKS_BACK: Final = 20  # blocks before a mark at which Anthropic looks for a prefix that it keeps


class Block(Value):
    """A part of a request that a mark may follow."""

    text: str
    marked: bool


class Counted(Value):
    """Tokens of a request: all, those read from the cache, those written to it, those of the region of memories."""

    model: str
    tokens: int
    cached: int
    written: int
    memories: int


class PrefixCache(Protocol):
    """A vendor's cache of prompts."""

    def count(self, body: Mapping[str, Any]) -> Counted:
        """Count a request, and keep it for those to come."""


@dataclass(slots=True)
class AutomaticCache:
    """OpenAI's: the longest common prefix with a request to the same model with the same key, in whole steps."""

    _seen: dict[tuple[str, ...], list[str]] = field(default_factory=dict)

    def count(self, body: Mapping[str, Any]) -> Counted:
        """See `PrefixCache`."""
        whole = "\n\n".join(block.text for block in blocks_of(body))
        form = str(body.get("response_format", ""))  # stands before the first message
        before = self._seen.setdefault((body["model"], str(body.get("prompt_cache_key", "")), form), [])
        common = max((_common(whole, one) for one in before), default=0)
        before.append(whole)
        tokens, cached = estimate_tokens(whole), _in_steps(estimate_tokens(whole[:common]))
        return Counted(body["model"], tokens, cached, _in_steps(tokens) - cached, _memories(whole))


@dataclass(slots=True)
class MarkedCache:
    """Anthropic's: up to a mark of this request, or a little before it, where an earlier request had a mark.

    `smallest` has the tokens of the shortest prefix that each model keeps.
    """

    smallest: Mapping[str, int]
    _kept: set[tuple[str, ...]] = field(default_factory=set)

    def count(self, body: Mapping[str, Any]) -> Counted:
        """See `PrefixCache`."""
        blocks, apart = blocks_of(body), (body["model"], str(body.get("apart", "")))
        ends = [0, *accumulate(estimate_tokens(block.text) for block in blocks)]
        prefixes = [(*apart, *(block.text for block in blocks[:place])) for place in range(len(ends))]
        marks = [
            place
            for place, block in enumerate(blocks, start=1)
            if block.marked and ends[place] >= self.smallest[body["model"]]
        ]
        near = {place for mark in marks for place in range(max(1, mark - _LOOKS_BACK), mark + 1)}
        cached = max((ends[place] for place in near if prefixes[place] in self._kept), default=0)
        self._kept.update(prefixes[mark] for mark in marks)
        written = max(0, max((ends[mark] for mark in marks), default=0) - cached)
        return Counted(body["model"], ends[-1], cached, written, _memories(blocks[-1].text))


def blocks_of(body: Mapping[str, Any]) -> tuple[Block, ...]:
    """The blocks of a request, in order, each with its speaker's role."""
    return tuple(
        Block(f"{message['role']}: {part['text']}", "cache_control" in part)
        for message in body["messages"]
        for part in _parts(message["content"])
    )


def _parts(content: str | list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [{"text": content}] if isinstance(content, str) else content


def _in_steps(tokens: int) -> int:
    return tokens // _STEP * _STEP if tokens >= _SMALLEST else 0


def _memories(text: str) -> int:
    return sum(estimate_tokens(found[0]) for found in MEMORIES.finditer(text))


def _common(one: str, other: str) -> int:
    """The length of the common prefix of two texts."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low
