"""Thanks who judged a reply, and asks who called it bad what was wrong, once."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from daemon.channels.slack.api.client import SlackClient
from daemon.channels.slack.incoming.after_ack import AfterAck
from daemon.channels.slack.incoming.event_reader import FEEDBACK_ACTION
from daemon.channels.slack.incoming.whispers import Whispers
from daemon.channels.slack.outgoing.dialogs import complaint_dialog, plain_text
from daemon.core.errors import ChannelError
from daemon.core.ports.arrivals import Acceptance, Arrival, Complaint, Feedback
from daemon.core.ports.intake import Intake
from daemon.core.sentences import Words


@dataclass(frozen=True, slots=True)
class FeedbackAnswers:
    """Answers feedback after its acknowledgement; `words_for` gives the words for a user in a channel, by their ids."""

    client: SlackClient
    intake: Intake
    whispers: Whispers
    after_ack: AfterAck
    words_for: Callable[[str, str], Awaitable[Words]]

    def heed(self, arrival: Arrival, acceptance: Acceptance, body: Mapping[str, Any]) -> None:
        """Take note of what was stored, and of the payload that it came with; returns at once."""
        if acceptance is not Acceptance.ACCEPTED or (isinstance(arrival, Feedback) and arrival.taken_back):
            return
        if isinstance(arrival, Complaint):
            self.after_ack.later(partial(self._confirm, arrival))
        elif isinstance(arrival, Feedback) and arrival.how == "reaction":
            self.after_ack.later(partial(self._thank, arrival))
        elif isinstance(arrival, Feedback) and arrival.value == "good":
            self.whispers.tell("feedback_thanks", body)
        elif isinstance(arrival, Feedback):
            self.after_ack.later(partial(self._ask, arrival, body))

    async def _ask(self, feedback: Feedback, body: Mapping[str, Any]) -> None:
        """Open the dialog; who was asked before, or can't be asked so, is thanked."""
        if await self.intake.may_ask_why(feedback):
            words = await self.words_for(feedback.channel, feedback.author)
            view = complaint_dialog(words, feedback.channel, feedback.ts)
            try:
                await self.client.call("views.open", trigger_id=str(body.get("trigger_id") or ""), view=view)
            except ChannelError:
                pass  # its three seconds are over, or the app may not
            else:
                return
        self.whispers.tell("feedback_sorry", body)

    async def _thank(self, feedback: Feedback) -> None:
        """Thank for a reaction; who called a reply bad finds a button that opens the dialog, which a reaction can't."""
        words = await self.words_for(feedback.channel, feedback.author)
        said = words.say("feedback_thanks")
        more: dict[str, object] = {}
        if feedback.value == "bad":
            label = plain_text(words.say("feedback_title"))
            button = {"type": "button", "action_id": FEEDBACK_ACTION, "value": f"bad:{feedback.ts}", "text": label}
            text = {"type": "section", "text": plain_text(said)}
            more = {"blocks": [text, {"type": "actions", "elements": [button]}]}
        await self.client.call("chat.postEphemeral", channel=feedback.channel, user=feedback.author, text=said, **more)

    async def _confirm(self, complaint: Complaint) -> None:
        words = await self.words_for(complaint.channel, complaint.author)
        await self.client.call(
            "chat.postEphemeral",
            channel=complaint.channel,
            user=complaint.author,
            text=words.say("feedback_kept"),
        )
