"""The list of figures, and the options of a measurement."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

# The name of each figure, which is also its module in `bench.figures`, and its meaning.
FIGURES: Final = MappingProxyType(
    {
        "startup": "seconds until the socket is up and the first reply is there, and memory then",
        "latency": "a DM beyond the model",
        "streaming": "what is added before the prompt and before the first visible words",
        "burst": "500 mentions at once, and memory before and after",
        "rooms": "mentions at once in 50 and 80 channels, within Slack's limits",
        "throughput": "full durable cycles a second",
        "backlog": "10,000 conversations waiting, and one user behind another's flood",
        "order": "quick messages in a thread",
        "redelivery": "the same event again",
        "kills": "messages under kill -9",
        "instances": "three daemons on one memory.db under kill -9, also where they see no processes of each other",
        "downtime": "messages sent while down",
        "gap": "an outage in many rooms and threads, and the rate of catching up",
        "prompts": "prompt tokens over a hundred turns",
        "calls": "model calls and tokens by mental process and pipeline",
        "thoughts": "calls, tokens and money of a whole thought beside a reply in words",
        "due_goals": "DMs while 1,000 goals are due at once, beside DMs while none is",
        "idle": "what a soul adds that thinks by itself while nothing is due",
        "mind": "a look for what is due and the recall of a mind with 100,000 thoughts",
        "caching": "what of each request was sent before, and what that saves, over both protocols",
        "recall": "what surfaces of long conversations, by words, by vectors and by both; needs --data",
        "hands": "sixty questions over a small library and earlier talk, and the time of a search",
        "vectors": "the search by meaning: exact and Chroma, at 1,000 to 100,000 memories",
        "surfacing": "the whole search before a reply at 1,000 to 100,000 memories, and what it adds to a DM",
        "machinery": "what subprocesses, processes and a second soul cost",
        "hooks": "the hook script of a session of Claude Code, with the daemon up, down, hanging and babbling",
        "sharing": "four processes that count in shared contexts through two daemons, under kills",
        "notice": "when others see a change of a shared context, and what watching costs an idle daemon",
        "asking": "a question to a session and its answer, without the time that the session thinks",
        "money": "what reserving and settling a model call under caps adds to it",
        "silence": "a minute without a word",
        "long_answer": "an answer of 30,000 characters",
        "form": "models that lose the form, always meet their limit, or think aloud",
        "leaks": "questions in random rooms: what is shown to whom, by each way of recall",
        "ways_out": "probes of a whole daemon by every way out of rooms, contexts, sessions and notes",
        "forgetting": "what is left of a person who is forgotten, also after kills and out of a backup",
        "discretion": "private thoughts and mass mentions",
        "hostile_replies": "hostile markdown through rendering",
        "refusals": "replies under every refusal of Slack's, in every way of posting",
        "acknowledgement": "acknowledgements while others write and the model hangs",
        "bigfile": "acknowledgements on 1 GB with and without backup, pruning, probes and status",
        "hugefile": "the same on 5 GB",
        "soak": "a quarter of a year of 200 people in fast time, with every trouble",
    }
)

ONLY_ON_REQUEST: Final = frozenset(
    {"bigfile", "due_goals", "hugefile", "instances", "recall", "soak", "surfacing", "ways_out"}
)
"""Figures that need many minutes, gigabytes of disk, or data of their own."""


@dataclass(frozen=True, slots=True)
class Bench:
    """`quick` asks for smaller counts of everything, `long` for a million of what else is 100,000.

    `tell` takes a line of progress; `data` is a file to read. `alive` is to be called now and then by what may take
    longer than the time limit of a figure, which counts from there anew.
    """

    quick: bool
    tell: Callable[[str], None]
    data: Path | None = None
    long: bool = False
    alive: Callable[[], None] = lambda: None

    def size(self, full: int, quick: int) -> int:
        """A count: `full`, or a smaller one when quick."""
        return quick if self.quick else full
