"""The subprocesses that run after a reply, each named by a present-tense sentence."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from daemon.mind.stances import Subprocess
from daemon.processes.subprocesses.closes_the_visit import closes_the_visit
from daemon.processes.subprocesses.keeps_its_own_state import keeps_its_own_state
from daemon.processes.subprocesses.looks_at_what_was_shown import looks_at_what_was_shown
from daemon.processes.subprocesses.models_the_visitor import models_the_visitor
from daemon.processes.subprocesses.summarizes_the_conversation import summarizes_the_conversation
from daemon.processes.subprocesses.thinks_the_matter_over import thinks_the_matter_over

SUBPROCESSES: Final[Mapping[str, Subprocess]] = MappingProxyType(
    {
        "looks_at_what_was_shown": looks_at_what_was_shown,
        "models_the_visitor": models_the_visitor,
        "keeps_its_own_state": keeps_its_own_state,
        "thinks_the_matter_over": thinks_the_matter_over,
        "summarizes_the_conversation": summarizes_the_conversation,
        "closes_the_visit": closes_the_visit,
    }
)

AFTER_A_VISIT: Final = ("closes_the_visit",)
"""The subprocesses that run after a visit instead of after a reply."""
