"""Thanks who judged a reply, and asks who called it bad what was wrong, once."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from daemon.channels.slack.dialog_forms import complaint_dialog, plain_text
from daemon.channels.slack.event_reader import FEEDBACK_ACTION
from daemon.channels.slack.private_answers import PrivateAnswers
from daemon.core.errors import ChannelError
from daemon.core.ports.arrivals import Acceptance, Arrival, Complaint, Feedback
from daemon.core.ports.intake import Intake


@dataclass(frozen=True, slots=True)
class FeedbackAnswers:
    """Answers feedback after its acknowledgement."""

    intake: Intake
    answers: PrivateAnswers

    def heed(self, arrival: Arrival, acceptance: Acceptance, body: Mapping[str, Any]) -> None:
        """Take note of what was stored, and of the payload that it came with; returns at once."""
        if acceptance is not Acceptance.ACCEPTED or (isinstance(arrival, Feedback) and arrival.taken_back):
            return
        if isinstance(arrival, Complaint):
            self.answers.later(partial(self._confirm, arrival))
        elif isinstance(arrival, Feedback) and arrival.how == "reaction":
            self.answers.later(partial(self._thank, arrival))
        elif isinstance(arrival, Feedback) and arrival.value == "good":
            self.answers.tell("feedback_thanks", body)
        elif isinstance(arrival, Feedback):
            self.answers.later(partial(self._ask, arrival, body))

    async def _ask(self, feedback: Feedback, body: Mapping[str, Any]) -> None:
        """Open the dialog; who was asked before, or can't be asked so, is thanked."""
        if await self.intake.may_ask_why(feedback):
            words = await self.answers.words_for(feedback.channel, feedback.author)
            view = complaint_dialog(words, feedback.channel, feedback.ts)
            try:
                await self.answers.open(body, view)
            except ChannelError:
                pass  # its three seconds are over, or the app may not
            else:
                return
        self.answers.tell("feedback_sorry", body)

    async def _thank(self, feedback: Feedback) -> None:
        """Thank for a reaction; who called a reply bad finds a button that opens the dialog, which a reaction can't."""
        words = await self.answers.words_for(feedback.channel, feedback.author)
        said = words.say("feedback_thanks")
        more: dict[str, object] = {}
        if feedback.value == "bad":
            label = plain_text(words.say("feedback_title"))
            button = {"type": "button", "action_id": FEEDBACK_ACTION, "value": f"bad:{feedback.ts}", "text": label}
            text = {"type": "section", "text": plain_text(said)}
            more = {"blocks": [text, {"type": "actions", "elements": [button]}]}
        await self.answers.whisper(feedback.channel, feedback.author, said, **more)

    async def _confirm(self, complaint: Complaint) -> None:
        words = await self.answers.words_for(complaint.channel, complaint.author)
        await self.answers.whisper(complaint.channel, complaint.author, words.say("feedback_kept"))
