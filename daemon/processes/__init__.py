"""In which states can it be? The mental processes by name."""

from collections.abc import Mapping
from types import MappingProxyType

from daemon.mind.mental_process import MentalProcess
from daemon.processes.academic import academic
from daemon.processes.attending import attending
from daemon.processes.curious import curious
from daemon.processes.dormant import dormant
from daemon.processes.engaged import engaged
from daemon.processes.exiting import exiting
from daemon.processes.greeting import greeting
from daemon.processes.liaising import liaising
from daemon.processes.poetic import poetic
from daemon.processes.problem_solving import problem_solving
from daemon.processes.ready import ready
from daemon.processes.reflecting import reflecting
from daemon.processes.returning import returning

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
