"""Reads that a workflow runs the step *Ask the soul* (Slack: function_executed).

The event holds a token for this one execution; it is read by nobody here, and stored nowhere.
"""

import re
from collections.abc import Mapping
from typing import Final

from daemon.channels.slack.incoming.event_reader import EventReader
from daemon.channels.slack.incoming.text import clean
from daemon.core.ports.arrivals import StepRun
from daemon.core.workflow_steps import LONGEST_QUESTION, QUESTION, STEP, STEP_CHANNEL

_EXECUTION: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


def step_run(reader: EventReader, payload: Mapping[str, object]) -> StepRun | None:
    """The step that a workflow runs, for the main soul; None for any other payload, and for another app's step.

    Its id is that of the execution, however often Slack tells of it. A question that is no text is an empty one.
    """
    event = payload.get("event")
    if not isinstance(event, dict) or event.get("type") != "function_executed":
        return None
    function, inputs, execution = event.get("function"), event.get("inputs"), event.get("function_execution_id")
    if not isinstance(function, dict) or function.get("callback_id") != STEP:
        return None
    if reader.identity.app and function.get("app_id", reader.identity.app) != reader.identity.app:
        return None
    if payload.get("team_id") != reader.identity.team:
        return None
    if not isinstance(execution, str) or not _EXECUTION.fullmatch(execution):
        return None
    asked = inputs.get(QUESTION) if isinstance(inputs, dict) else None
    question = clean(asked)[:LONGEST_QUESTION].strip() if isinstance(asked, str) else ""
    own = reader.identity
    return StepRun(f"step:{execution}", reader.soul, own.team, STEP_CHANNEL, execution, question, reader.steps)
