"""The goals that a thought adds or changes, with the times by which they fall due."""

from typing import Final

from daemon.memory.mind.goal_changes import GoalChange, GoalChanges
from daemon.mind.moment import Moment, due_by
from daemon.mind.thought import CognitiveOutput
from daemon.mind.thought.cognitive_output import GoalUpdate

_TIMED: Final = ("add", "reprioritize")


def goals_of(moment: Moment, output: CognitiveOutput) -> tuple[GoalChanges, ...]:
    """The changes of a thought's goals, promises first; one whose time can't be meant is refused.

    Below a reply, a goal with `follow_up` is a promise; where nothing more may be promised it is kept as a plain goal.
    """
    changes, refused = list[GoalChange](), list[str]()
    for one in output.goal_updates:
        timed = one.due and one.action in _TIMED
        due = due_by(one.due, moment) if timed else 0
        if isinstance(due, str):
            refused.append(due)
            continue
        wants = one.follow_up and one.action == "add"
        why_not = _why_no_promise(moment, output, due, sum(each.promised for each in changes)) if wants else ""
        refused += [why_not] if why_not else []
        promised = wants and not why_not
        changes.append(_change(one, moment.quiet.over(due, moment.zone) if promised else due, promised=promised))
    changes.sort(key=lambda each: not each.promised)
    return (GoalChanges(tuple(changes), tuple(refused)),) if changes or refused else ()


def _why_no_promise(moment: Moment, output: CognitiveOutput, due: int, promised: int) -> str:
    """The reason why one more thing may not be promised; empty where it may."""
    if moment.promises is None or not output.external_speech:
        return "not_invited"
    if promised >= moment.promises:
        return "too_many"
    return "" if due else "empty"


def _change(one: GoalUpdate, due_ms: int, *, promised: bool) -> GoalChange:
    return GoalChange(one.action, one.goal, one.goal_id, one.priority, due_ms, one.why, promised)
