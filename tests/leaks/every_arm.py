"""All the arms by name; add a line for each kind of memory."""

from collections.abc import Mapping

from tests.leaks.arms import Arm, Meanings, Text
from tests.leaks.mind_arms import Expectations, Goals, HeldInMind, NotedAlone, Promises, Thoughts
from tests.leaks.record_arms import Claims, Command, Derived, Facts, Files, Visits
from tests.leaks.told_arms import SessionsSaid, Why

ARMS: Mapping[str, type[Arm]] = {
    "text": Text,
    "vectors": Meanings,
    "facts": Facts,
    "claims": Claims,
    "command": Command,
    "episodes": Visits,
    "senses": Files,
    "cores": Derived,
    "why": Why,
    "sessions": SessionsSaid,
    "thoughts": Thoughts,
    "notes": NotedAlone,
    "documents": HeldInMind,
    "goals": Goals,
    "expectations": Expectations,
    "promises": Promises,
}
