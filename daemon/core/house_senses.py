"""The senses of a soul: those by which the house itself tells it something, and those that programs name."""

from enum import StrEnum
from typing import NewType


class HouseSense(StrEnum):
    """The names of the house's own senses, with which it keeps readings and gives percepts; no program may use one."""

    AUTHORITY = "authority"  # a function of the mind got another level
    AWAKENING = "awakening"
    DAEMON = "daemon"  # the program in which it lives
    DECISION = "decision"
    DELETION = "deletion"  # a message that it had answered was deleted
    EDIT = "edit"
    FEEDBACK = "feedback"
    GOAL = "goal"  # a goal of its own was closed
    HOST = "host"  # the machine on which it lives
    INTERNAL = "internal"
    LANGUAGE = "language"
    LIBRARY = "library"
    MOTOR = "motor"
    RESULT = "result"
    TEMPORAL = "temporal"
    TIME = "time"


ProgramSense = NewType("ProgramSense", str)
"""The name of a sense as a program gives it, once it was found to be none of the house's."""
