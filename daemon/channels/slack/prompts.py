"""Suggests to each person who opens the messages with the soul what to begin with (Slack: suggested prompts)."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from daemon.channels.slack.client import SlackClient
from daemon.channels.slack.event_reader import EventReader
from daemon.channels.slack.manifest import AGENT_SCOPE
from daemon.channels.slack.private_answers import PrivateAnswers
from daemon.core.lru import Lru
from daemon.core.ports.clock import Clock
from daemon.core.ports.intake import Intake
from daemon.core.sentences import Words
from daemon.core.suggestions import Suggestion, with_reminder
from daemon.core.timetable import minute_in

_ID: Final = re.compile(r"[UW][A-Z0-9]{1,63}")
_DM: Final = re.compile(r"D[A-Z0-9]{1,63}")
_STAYS: Final = 3_600.0  # seconds in which the same prompts are not set again
_MOST: Final = 2_000  # people of whom it is known what they were shown last, and events


@dataclass(frozen=True, slots=True)
class Suggesting:
    """What the prompts need beside the soul's own: the person's standing and language, their next reminder.

    `suggested` gives a soul's suggestions in a language, `words_of` what is said in its name.
    """

    client: SlackClient
    reader: EventReader
    intake: Intake
    answers: PrivateAnswers
    suggested: Callable[[str, str], Sequence[Suggestion]]
    words_of: Callable[[str, str], Words]
    clock: Clock
    _shown: Lru[str, tuple[Suggestion, ...]] = field(init=False)
    _seen: Lru[str, None] = field(default_factory=lambda: Lru(_MOST))

    def __post_init__(self) -> None:
        object.__setattr__(self, "_shown", Lru(_MOST, _STAYS, self.clock.monotonic))

    def heed(self, body: Mapping[str, Any]) -> None:
        """Take note of a payload; returns at once. An event that comes twice counts once."""
        event, scopes = body.get("event"), self.reader.identity.scopes
        if not isinstance(event, dict) or event.get("type") != "app_home_opened" or event.get("tab") != "messages":
            return
        person, room, event_id = event.get("user"), event.get("channel"), str(body.get("event_id"))[:64]
        ours = body.get("team_id") in (None, "", self.reader.identity.team)
        if not (ours and isinstance(person, str) and _ID.fullmatch(person)) or event_id in self._seen:
            return
        if isinstance(room, str) and _DM.fullmatch(room) and (not scopes or AGENT_SCOPE in scopes):
            self._seen[event_id] = None
            self.answers.later(partial(self._suggest, person, room))

    async def _suggest(self, person: str, room: str) -> None:
        """Set the prompts, unless these were shown lately. Raises ChannelError, StoreError."""
        decision, soul = await self.answers.standing_of(person), self.reader.soul
        if not decision.admitted:
            return
        due_ms = await self.intake.next_reminder_ms(soul, self.reader.identity.team, person)
        when = minute_in(due_ms, decision.zone) if due_ms is not None else ""
        words, own = self.words_of(soul, decision.language), self.suggested(soul, decision.language)
        prompts = with_reminder(own, words, when)
        if self._shown.get(person) == prompts:
            return
        listed = [{"title": one.title, "message": one.message} for one in prompts]
        await self.client.call("assistant.threads.setSuggestedPrompts", channel_id=room, prompts=listed)
        self._shown[person] = prompts
