"""functions.*: the app completes a step of a workflow, once. Slack wants no scope for it."""

from types import MappingProxyType
from typing import Final

from daemon.local_slack.limits import Tier
from daemon.local_slack.model import Json, StepExecution, StepState
from daemon.local_slack.web_api.call import Call, SlackError, WebApiMethod
from daemon.local_slack.workflows import OUTPUTS


def complete_success(call: Call) -> Json:
    """functions.completeSuccess: all outputs that the manifest names, and no others."""
    execution = _running(call)
    call.needed("outputs")
    outputs = call.value("outputs", "invalid_arguments")
    if not isinstance(outputs, dict):
        raise SlackError("invalid_arguments")
    if outputs.keys() != OUTPUTS or not all(isinstance(one, str) for one in outputs.values()):
        raise SlackError("parameter_validation_failed")
    execution.state, execution.outputs = StepState.SUCCEEDED, outputs
    _tell(call, execution)
    return {}


def complete_error(call: Call) -> Json:
    """functions.completeError: what went wrong, for people to read."""
    execution = _running(call)
    execution.error = call.needed("error")
    execution.state = StepState.FAILED
    _tell(call, execution)
    return {}


def _running(call: Call) -> StepExecution:
    execution = call.workspace.steps.get(call.needed("function_execution_id"))
    if execution is None:
        raise SlackError("function_execution_not_found")
    if execution.state is not StepState.RUNNING:
        raise SlackError("execution_not_in_running_state")
    return execution


def _tell(call: Call, execution: StepExecution) -> None:
    call.workspace.feed.publish("step", execution.as_json(), internal=True)


METHODS: Final = MappingProxyType(
    {
        "functions.completeSuccess": WebApiMethod(complete_success, (), Tier.THREE),
        "functions.completeError": WebApiMethod(complete_error, (), Tier.THREE),
    }
)
