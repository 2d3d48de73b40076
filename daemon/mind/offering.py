"""Offers a few short answers to a question, by buttons in Slack, else in words below it."""

from daemon.core.perception import Place
from daemon.mind.process import ProcessContext


def offer(context: ProcessContext, answers: tuple[str, ...]) -> None:
    if context.perception.place is Place.TERMINAL or context.perception.bot:
        listed = "\n".join(f"- {answer}" for answer in answers)
        if listed:
            context.motor.show_below(listed)
    else:
        context.motor.offer(answers)
