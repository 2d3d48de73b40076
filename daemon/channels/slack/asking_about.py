"""The shortcut *Ask about this* on a message: it opens a modal for the question."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from daemon.channels.slack.dialogs import question_dialog
from daemon.channels.slack.event_reader import EventReader
from daemon.channels.slack.message_text import quoted
from daemon.channels.slack.private_answers import PrivateAnswers
from daemon.core.errors import ChannelError
from daemon.core.perception import Place
from daemon.core.phrases import ASK_SHORTCUT
from daemon.core.sentences import Sentence
from daemon.core.text import shortened

_METADATA: Final = 2_600  # characters of a quote as JSON; Slack takes 3,000 together with the other fields
_QUOTE: Final = 1_900  # characters that the dialog shows (Slack: 3,000 in a section)
_UNNAMED: Final = frozenset({"directmessage", "privategroup"})  # Slack's placeholders for hidden names


@dataclass(frozen=True, slots=True)
class AskingAbout:
    """The handler of the shortcut."""

    reader: EventReader
    answers: PrivateAnswers

    def handle(self, body: Mapping[str, Any]) -> None:
        """Open the modal in the background if a message_action payload is the shortcut's."""
        author = self.reader.user_of(body)
        if body.get("callback_id") != ASK_SHORTCUT:
            return
        if not author:
            self.answers.tell("command_refused", body)
            return
        self.answers.later(partial(self._open, author, body))

    async def _open(self, author: str, body: Mapping[str, Any]) -> None:
        decision = await self.answers.standing_of(author)
        if not decision.admitted:
            self.answers.tell(decision.say.key if isinstance(decision.say, Sentence) else "command_refused", body)
            return
        channel, message = _text(_mapping(body.get("channel")), "id"), _mapping(body.get("message"))
        words, place = await self.answers.words_for(channel, author), self.reader.places.get(channel)
        ts = _text(body, "message_ts") or _text(message, "ts")
        view = question_dialog(
            words,
            self._quote(body, message, channel),
            there=place is not None and place is not Place.DM,
            channel=channel,
            ts=_text(message, "thread_ts") or ts,
        )
        try:
            await self.answers.open(body, view)
        except ChannelError:
            self.answers.tell("command_later", body)

    def _quote(self, body: Mapping[str, Any], message: Mapping[str, Any], channel: str) -> str:
        """Return the message as a quote with its author and origin, short enough for Slack's private_metadata."""
        name = _text(_mapping(body.get("channel")), "name")
        shared = {
            "is_share": True,
            "author_id": _text(message, "user"),
            "author_name": _text(message, "username"),
            "channel_id": channel,
            "channel_name": "" if name in _UNNAMED else name,
            "text": self.reader.text_of(message),
        }
        quote = shortened(quoted({"attachments": [shared]}, self.reader.identity.user, alert=False), _QUOTE)
        while len(json.dumps(quote)) > _METADATA:
            quote = shortened(quote, len(quote) * 3 // 4)
        return quote


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(mapping: Mapping[str, Any], name: str) -> str:
    value = mapping.get(name)
    return value if isinstance(value, str) else ""
