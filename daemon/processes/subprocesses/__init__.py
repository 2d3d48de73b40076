"""The subprocesses that run after a reply; each is named by a present-tense sentence."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from daemon.mind.mental_subprocess import Subprocess
from daemon.processes.subprocesses.keeps_its_own_state import keeps_its_own_state
from daemon.processes.subprocesses.models_the_visitor import models_the_visitor
from daemon.processes.subprocesses.summarizes_the_conversation import summarizes_the_conversation

SUBPROCESSES: Final[Mapping[str, Subprocess]] = MappingProxyType(
    {
        "models_the_visitor": models_the_visitor,
        "keeps_its_own_state": keeps_its_own_state,
        "summarizes_the_conversation": summarizes_the_conversation,
    }
)
