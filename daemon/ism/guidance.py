"""What a soul works towards when it solves a problem, and by which rules: its goal and its playbook (seed 001)."""

from daemon.soul import Soul

_GOAL = "Understand the problem that the person has, and help to solve it."
_PLAYBOOK = (
    "Look before you answer: first in what was said here, then in what your actions reach. Open what looks right but "
    "is shown in part. Think when results have to be put together. Ask only what nobody but the person can tell, and "
    "one thing at a time. What you don't find you don't make up. Hand on only what you can't do yourself. Answer as "
    "soon as you can; being thorough is no reason to go on."
)


def goal_and_playbook(soul: Soul) -> tuple[str, str]:
    """The goal and the playbook of a soul's autonomous work: its author's words, or else the daemon's."""
    return soul.ism.goal or _GOAL, soul.playbook or _PLAYBOOK
