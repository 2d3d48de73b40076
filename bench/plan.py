"""The list of figures, and the options of a measurement."""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

# The name of each figure, which is also its module in `bench.figures`, and its meaning.
FIGURES: Final = MappingProxyType(
    {
        "startup": "seconds until the socket is up",
        "latency": "a DM beyond the model",
        "streaming": "what is added before the prompt and before the first visible words",
        "burst": "500 mentions at once, and memory before and after",
        "throughput": "full durable cycles a second",
        "backlog": "10,000 conversations waiting, and one user behind another's flood",
        "order": "quick messages in a thread",
        "redelivery": "the same event again",
        "kills": "messages under kill -9",
        "downtime": "messages sent while down",
        "gap": "an outage in many rooms and threads, and the rate of catching up",
        "prompts": "prompt tokens over a hundred turns",
        "calls": "model calls and tokens by mental process and pipeline",
        "hands": "sixty questions over a small library and earlier talk, and the time of a search",
        "machinery": "what subprocesses, processes and a second soul cost",
        "silence": "a minute without a word",
        "long_answer": "an answer of 30,000 characters",
        "form": "models that lose the form, always meet their limit, or think aloud",
        "discretion": "private thoughts and mass mentions",
        "hostile_replies": "hostile markdown through rendering",
        "refusals": "replies under every refusal of Slack's, in every way of posting",
        "acknowledgement": "acknowledgements while others write and the model hangs",
        "bigfile": "acknowledgements on 1 GB with and without backup, pruning, probes and status",
        "hugefile": "the same on 5 GB",
        "soak": "a quarter of a year of 200 people in fast time, with every trouble",
    }
)

ONLY_ON_REQUEST: Final = frozenset({"bigfile", "hugefile", "soak"})
"""Figures that need many minutes, and some of them gigabytes of disk."""


@dataclass(frozen=True, slots=True)
class Bench:
    """`quick` asks for smaller counts of everything; `tell` takes a line of progress."""

    quick: bool
    tell: Callable[[str], None]

    def size(self, full: int, quick: int) -> int:
        """A count: `full`, or a smaller one when quick."""
        return quick if self.quick else full
