"""Where a workflow's step hears the soul: an answer completes it, a note of the daemon's own ends it with an error."""

import json
from collections.abc import Callable
from typing import Final

from daemon.channels.bare import FedChannel
from daemon.channels.slack.api.client import SlackClient
from daemon.channels.slack.api.refusals import for_sending
from daemon.channels.slack.outgoing.markup import inert
from daemon.channels.slack.outgoing.unknown_links import ReplyGuard
from daemon.core.errors import ChannelRefused
from daemon.core.links import Trusted
from daemon.core.perception import ConversationKey, Perception, Readers
from daemon.core.ports.channel import Room
from daemon.core.ports.gate import GateDecision
from daemon.core.ports.posts import FoundPost, Post
from daemon.core.ports.telemetry import Emit
from daemon.core.workflow_steps import ANSWER, STEP_CHANNEL

_OVER: Final = frozenset({"execution_not_in_running_state", "function_execution_not_found"})
"""What Slack says of a step that has ended: it was completed, by us before, or its workflow was stopped."""


class WorkflowSteps(FedChannel):
    """Implements `Channel` for the steps of workflows, of which the workspace's listener hears; `client` is its own.

    `redact` takes keys out of an answer.
    """

    name = STEP_CHANNEL

    def __init__(self, client: SlackClient, redact: Callable[[str], str], emit: Emit) -> None:
        self._client, self._redact, self._emit = client, redact, emit

    async def admit(self, perception: Perception) -> GateDecision:
        """See `Gate.admit`; whom Slack lets run a workflow of the workspace may ask in it."""
        return GateDecision(admitted=True, name="a workflow")

    async def readers(self, perception: Perception) -> Readers:
        """See `Channel.readers`: what every full member may know, since nobody knows where a workflow puts it."""
        return Readers(perception.audience, members_only=True, apart=True)

    def split(self, reply: str, conversation: ConversationKey, trusted: Trusted | None = None) -> tuple[str, ...]:
        """See `Channel.split`; an answer stays whole."""
        guard = ReplyGuard(trusted, self._redact) if trusted is not None else None
        text = inert(reply, guard).strip()
        return (text,) if text else ()

    async def find_room(self, contact: str) -> Room:
        """See `Channel.find_room`; people have no rooms here."""
        raise ChannelRefused("no person can be written to in a workflow", code="no_room", hint="use a Slack id")

    async def deliver(self, post: Post) -> str:
        """See `Channel.deliver`; a step that has ended meanwhile takes nothing any more, which counts as delivered."""
        step = post.conversation.thread
        method = "functions.completeError" if post.note else "functions.completeSuccess"
        ending = {"error": post.body} if post.note else {"outputs": json.dumps({ANSWER: post.body})}
        try:
            await self._client.call(method, function_execution_id=step, **ending)
        except ChannelRefused as refused:
            if refused.code not in _OVER:
                raise for_sending(refused) from refused
            self._emit("workflow.step_over", step=step, reason=refused.code)
        else:
            self._emit("workflow.step_ended", step=step, answered=not post.note)
        return post.key

    async def find(self, post: Post) -> FoundPost | None:
        """See `Channel.find`; what may have been sent is sent again, since Slack completes a step once."""
        return None
