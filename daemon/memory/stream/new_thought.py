"""A thought as a cycle hands it to its commit."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

from daemon.core.authority import Authority, Function, Level
from daemon.memory.thought_parts import ThoughtPart

Occasion = Literal["words", "due", "surprise", "sense", "result", "visit_end", "wake", "awakening"]
"""What a thought can be woken by."""

UNBOUND: Final = Authority(dict.fromkeys(Function, Level.CHECKED))
"""Nothing was held back while it was thought."""


@dataclass(frozen=True, slots=True)
class NewThought:
    """One thought: why it was thought, in which mental process, what it was given and what it holds.

    `input` is a CognitiveInput in JSON, empty where another step than `think` thought; `output` a CognitiveOutput.
    `surprise` (0 to 1) is the greatest among its prediction errors, None without any. `did` says how many parts of each
    field took effect by then, `refused` which fields lost a part, each with the reason; `parts` take effect when it is
    stored, and are counted then. `authority` is what its functions were allowed while it was thought. `saw_thoughts`
    are the ids of the thoughts, of what was settled of them, and of all else that stood in its prompt. `calls_made`:
    how many model calls the cycle had made by then; the motor sets it.
    """

    occasion: Occasion
    process: str
    input: str
    output: str
    degraded: bool = False
    spoke: bool = False
    surprise: float | None = None
    did: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    refused: tuple[tuple[str, str], ...] = ()
    saw_thoughts: tuple[str, ...] = ()
    parts: tuple[ThoughtPart, ...] = ()
    calls_made: int = 0
    authority: Authority = UNBOUND
