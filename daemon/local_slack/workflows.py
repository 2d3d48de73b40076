"""Workflows that run the app's step, one execution after the other (Slack: custom steps)."""

import secrets
from typing import Final

from daemon.local_slack import events
from daemon.local_slack.model import Json, StepExecution
from daemon.local_slack.workspace import Workspace

CALLBACK: Final = "ask_soul"
"""The one step that the app's manifest names."""

INPUTS: Final = frozenset({"question"})
OUTPUTS: Final = frozenset({"answer"})
"""What the step takes and gives, each a text, as the manifest says."""


def run_step(workspace: Workspace, inputs: Json, callback: str = CALLBACK) -> tuple[StepExecution, str]:
    """A workflow comes to the step: raises `function_executed`; gives the execution and the event's id.

    The event holds a token for this execution alone, as Slack's does.
    """
    execution = StepExecution(f"Fx0{secrets.token_hex(5).upper()}")
    workspace.steps[execution.id] = execution
    app, now = workspace.state.app, workspace.clock.now()
    event = {
        "type": "function_executed",
        "function": {
            "id": "Fn0ASKSOUL",
            "callback_id": callback,
            "title": "Ask the soul",
            "description": "",
            "type": "app",
            "input_parameters": [_parameter(name) for name in sorted(INPUTS)],
            "output_parameters": [_parameter(name) for name in sorted(OUTPUTS)],
            "app_id": app.app_id,
            "date_created": int(now),
            "date_updated": int(now),
            "date_deleted": 0,
        },
        "inputs": inputs,
        "function_execution_id": execution.id,
        "workflow_execution_id": f"Wx0{secrets.token_hex(5).upper()}",
        "event_ts": f"{now:.6f}",
        "bot_access_token": f"xwfp-local-{secrets.token_hex(12)}",
    }
    return execution, workspace.deliveries.event(events.payload(workspace.state, event, "", now))


def _parameter(name: str) -> Json:
    return {"type": "string", "name": name, "title": name, "description": "", "is_required": True}
