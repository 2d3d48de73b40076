"""What a thought means to do later, with the times at which it comes back."""

from daemon.memory.mind.intended import IntendedInThought, ToDo
from daemon.mind.moment import Moment, due_by
from daemon.mind.thought import CognitiveOutput


def intended_of(moment: Moment, output: CognitiveOutput) -> tuple[IntendedInThought, ...]:
    """What a thought means to do; what has no time, or one that can't be meant, is refused."""
    planned, refused = list[ToDo](), list[str]()
    for one in output.memory_ops:
        if one.type != "intend":
            continue
        due = due_by(one.when, moment) if one.when else "empty"
        if isinstance(due, str):
            refused.append(due)
        else:
            planned.append(ToDo(one.content, due))
    return (IntendedInThought(tuple(planned), tuple(refused)),) if planned or refused else ()
