"""The goals that a thought adds or changes, with the times by which they fall due."""

from typing import Final

from daemon.memory.mind.goal_changes import GoalChange, GoalChanges
from daemon.mind.moment import Moment, due_by
from daemon.mind.thought import CognitiveOutput
from daemon.mind.thought.cognitive_output import GoalUpdate

_TIMED: Final = ("add", "reprioritize")
_NOT_INVITED: Final = "not_invited"


def goals_of(moment: Moment, output: CognitiveOutput) -> tuple[GoalChanges, ...]:
    """The changes of a thought's goals; one whose time can't be meant is refused, and nothing is promised aloud."""
    changes, refused = list[GoalChange](), list[str]()
    for one in output.goal_updates:
        timed = one.due and one.action in _TIMED
        due = due_by(one.due, moment) if timed else 0
        if isinstance(due, str):
            refused.append(due)
            continue
        changes.append(_change(one, due))
        if one.follow_up and one.action == "add":
            refused.append(_NOT_INVITED)  # it is kept as a plain goal: no one heard that the soul comes back to it
    return (GoalChanges(tuple(changes), tuple(refused)),) if changes or refused else ()


def _change(one: GoalUpdate, due_ms: int) -> GoalChange:
    return GoalChange(one.action, one.goal, one.goal_id, one.priority, due_ms, one.why)
