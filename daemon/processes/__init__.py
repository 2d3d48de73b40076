"""In which states can it be? The mental processes by name."""

from collections.abc import Mapping
from types import MappingProxyType

from daemon.mind.process import MentalProcess
from daemon.processes.stances import (
    academic,
    attending,
    curious,
    dormant,
    engaged,
    exiting,
    greeting,
    liaising,
    poetic,
    problem_solving,
    ready,
    reflecting,
    returning,
)

PROCESSES: Mapping[str, MentalProcess] = MappingProxyType(
    {
        "greeting": greeting,
        "curious": curious,
        "engaged": engaged,
        "ready": ready,
        "returning": returning,
        "dormant": dormant,
        "exiting": exiting,
        "academic": academic,
        "poetic": poetic,
        "problem_solving": problem_solving,
        "liaising": liaising,
        "attending": attending,
        "reflecting": reflecting,
    }
)
