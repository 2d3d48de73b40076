"""The modals that users fill in (Slack: modal views), the home tab, and their handlers."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.event_reader import FEEDBACK_ACTION, HOME_ACTION, EventReader
from daemon.channels.slack.home_acts import (
    ASK,
    ASK_WHERE,
    COMPLAINT,
    CORRECT,
    CORRECTS,
    IN_PRIVATE,
    IN_THREAD,
    LONGEST_COMPLAINT,
    LONGEST_CORRECTION,
    LONGEST_QUESTION,
    ROOM,
    ROOM_JOINS,
    ROOM_SOUL,
    ROOM_STREAMS,
    SETS_UP,
    USUAL,
    opened,
    pressed,
)
from daemon.channels.slack.markup import inert
from daemon.channels.slack.mrkdwn import to_mrkdwn
from daemon.channels.slack.private_answers import PrivateAnswers
from daemon.core.errors import ChannelError, StoreError
from daemon.core.phrases import Command, typed
from daemon.core.ports import Intake
from daemon.core.ports.arrivals import Acceptance, Arrival, Complaint, Feedback
from daemon.core.room_ways import JOINS, LONGEST_INSTRUCTIONS, STREAMS, ChannelSettings, ChannelSettingsStore
from daemon.core.sentences import Words
from daemon.core.settings_place import HomeButton, HomeItem, HomePage, HomeSection
from daemon.core.text import shortened

REFUSED: Final = "soul_refused"
"""The id of a modal that only shows a text and takes no input."""

_TITLE: Final = 24  # characters of a title and of a button (Slack: modal view)
_LABEL: Final = 2_000
_CHOICE: Final = 75
_OPTIONS: Final = 10  # radio buttons of a group


def complaint_dialog(words: Words, channel: str, ts: str) -> dict[str, Any]:
    """Return a modal that asks what was wrong with the reply `ts`."""
    answer = {"type": "plain_text_input", "action_id": COMPLAINT, "multiline": True, "max_length": LONGEST_COMPLAINT}
    labels = {"title": "feedback_title", "submit": "feedback_send", "close": "feedback_close"}
    return modal(
        COMPLAINT,
        {name: words.say(key) for name, key in labels.items()},
        [
            {
                "type": "input",
                "block_id": COMPLAINT,
                "label": plain_text(words.say("feedback_ask")),
                "hint": plain_text(words.say("feedback_hint")),
                "element": answer,
            }
        ],
        channel=channel,
        ts=ts,
    )


def question_dialog(words: Words, quote: str, *, there: bool, **about: str) -> dict[str, Any]:
    """Return a modal for a question about the quoted message; with `there` the answer may go into its thread."""
    labels = {"title": "ask_about_title", "submit": "ask_about_send", "close": "feedback_close"}
    question = {"type": "plain_text_input", "action_id": ASK, "multiline": True, "max_length": LONGEST_QUESTION}
    blocks: list[dict[str, Any]] = [
        {"type": "section", "text": plain_text(quote)},
        {"type": "input", "block_id": ASK, "label": plain_text(words.say("ask_about_ask")), "element": question},
    ]
    if there:
        choices = [_choice(words.say(f"ask_about_{where}"), where) for where in (IN_PRIVATE, IN_THREAD)]
        where = {"type": "radio_buttons", "action_id": ASK_WHERE, "options": choices, "initial_option": choices[0]}
        label = plain_text(words.say("ask_about_where"))
        blocks.append({"type": "input", "block_id": ASK_WHERE, "optional": True, "label": label, "element": where})
    return modal(ASK, {name: words.say(key) for name, key in labels.items()}, blocks, quote=quote, **about)


def correction_dialog(words: Words, fact: str) -> dict[str, Any]:
    """Return a modal for the correction of a fact, by its id."""
    labels = {"title": "home_correct", "submit": "home_correct_send", "close": "feedback_close"}
    right = {"type": "plain_text_input", "action_id": CORRECT, "multiline": True, "max_length": LONGEST_CORRECTION}
    asked = {"type": "input", "block_id": CORRECT, "label": plain_text(words.say("home_correct_ask")), "element": right}
    return modal(CORRECT, {name: words.say(key) for name, key in labels.items()}, [asked], fact=fact)


def refusing_dialog(words: Words, key: str) -> dict[str, Any]:
    labels = {"title": words.say("room_title"), "close": words.say("feedback_close")}
    return modal(REFUSED, labels, [{"type": "section", "text": plain_text(words.say(key))}])


def room_dialog(
    words: Words, way: ChannelSettings, souls: Sequence[str], *, channel: str, at_home: bool = False
) -> dict[str, Any]:
    """Return a modal for the settings of a channel, filled in with `way`. `souls` may answer there.

    `at_home`: the modal is opened on the home tab and therefore names the channel.
    """
    labels = {"title": "room_title", "submit": "room_send", "close": "feedback_close"}
    text: dict[str, Any] = {
        "type": "plain_text_input",
        "action_id": ROOM,
        "multiline": True,
        "max_length": LONGEST_INSTRUCTIONS,
    }
    if way.instructions:
        text["initial_value"] = way.instructions
    hint = plain_text(words.say("room_instructions_hint"))
    where = {"type": "section", "text": {"type": "mrkdwn", "text": f"*<#{channel}>*"}}
    blocks = [*((where,) if at_home else ()), _optional(ROOM, words.say("room_instructions"), text) | {"hint": hint}]
    if len(souls) > 1:
        named = {USUAL: words.say("room_soul_usual"), **{one: one for one in souls}}
        blocks.append(_optional(ROOM_SOUL, words.say("room_soul"), _radio(ROOM_SOUL, named, way.soul)))
    streams = dict(zip(STREAMS, ("room_usual", "room_streams_on", "room_streams_off"), strict=True))
    joins = dict(zip(JOINS, ("room_joins_threads", "room_joins_mention"), strict=True))
    for action, label, keys, chosen in (
        (ROOM_STREAMS, "room_streams", streams, way.streams),
        (ROOM_JOINS, "room_joins", joins, way.joins),
    ):
        named = {value or USUAL: words.say(key) for value, key in keys.items()}
        blocks.append(_optional(action, words.say(label), _radio(action, named, chosen)))
    return modal(ROOM, {name: words.say(key) for name, key in labels.items()}, blocks, channel=channel)


def _optional(action: str, label: str, element: dict[str, Any]) -> dict[str, Any]:
    return {"type": "input", "block_id": action, "optional": True, "label": plain_text(label), "element": element}


def _radio(action: str, named: Mapping[str, str], chosen: str) -> dict[str, Any]:
    """Return radio buttons. Slack shows ten; a choice that is no longer offered selects the first."""
    options = {value: _choice(text, value) for value, text in list(named.items())[:_OPTIONS]}
    initial = options.get(chosen or USUAL, options[USUAL])
    return {"type": "radio_buttons", "action_id": action, "options": [*options.values()], "initial_option": initial}


def _choice(text: str, value: str) -> dict[str, Any]:
    return {"text": plain_text(text, _CHOICE), "value": value}


def modal(callback_id: str, labels: Mapping[str, str], blocks: list[dict[str, Any]], **about: str) -> dict[str, Any]:
    """Return a modal view. `labels` are those of title, submit and close; `about` comes back with the submission."""
    return {
        "type": "modal",
        "callback_id": callback_id,
        "private_metadata": json.dumps(about),
        **{name: plain_text(label, _TITLE) for name, label in labels.items()},
        "blocks": blocks,
    }


def plain_text(text: str, most: int = _LABEL) -> dict[str, str]:
    return {"type": "plain_text", "text": text if len(text) <= most else f"{text[: most - 1]}…"}


_BLOCKS: Final = 100
_HOME_TITLE, _SECTION, _BUTTON = 150, 2_900, 75
_LARGEST: Final = 60_000  # characters of all texts; Slack takes some 250 kB a view


@dataclass(frozen=True, slots=True)
class HomeTab:
    """The handler of the home tab, which shows the gate's refusals and opens the correction modal."""

    client: SlackClient
    reader: EventReader
    answers: PrivateAnswers

    def handle(self, body: Mapping[str, Any]) -> None:
        """Handle a payload in the background."""
        if (act := opened(body, self.reader)) is not None:
            self.answers.later(partial(self._refuse, act.author))
        elif (act := pressed(body, self.reader)) is not None and act.home.startswith(CORRECTS):
            self.answers.later(partial(self._ask, act.author, act.home.partition(" ")[2], body))

    async def _refuse(self, person: str) -> None:
        decision = await self.answers.standing_of(person)
        if decision.admitted:
            return
        words = await self.answers.words_for("", person)
        said = words.tell(decision.say) if decision.say else words.say("command_refused")
        page = (HomeSection(words.say("home_well"), (HomeItem(said),)),)
        await self.client.call("views.publish", user_id=person, view=home_view(page))

    async def _ask(self, person: str, fact: str, body: Mapping[str, Any]) -> None:
        view = correction_dialog(await self.answers.words_for("", person), fact)
        await self.answers.open(body, view)


def home_view(page: HomePage) -> dict[str, Any]:
    """Return the view of a page. Sections beyond Slack's sizes are left out at the end."""
    blocks, size = list[dict[str, Any]](), 0
    for section in page:
        items = [_item(item, len(blocks) + place) for place, item in enumerate(section.items)]
        made = [
            {"type": "header", "text": plain_text(section.title, _HOME_TITLE)},
            *(one for item in items for one in item),
        ]
        size += sum(len(item.text) for item in section.items)
        if len(blocks) + len(made) >= _BLOCKS or size > _LARGEST:
            break
        blocks += [*made, {"type": "divider"}]
    return {"type": "home", "callback_id": HOME_ACTION, "blocks": blocks[:-1]}


def _item(item: HomeItem, number: int) -> list[dict[str, Any]]:
    text = shortened(to_mrkdwn(inert(item.text)), _SECTION)
    blocks: list[dict[str, Any]] = [{"type": "section", "text": {"type": "mrkdwn", "text": text}}]
    if item.buttons:
        made = [_button(one, f"{HOME_ACTION}:{number}:{place}") for place, one in enumerate(item.buttons)]
        blocks.append({"type": "actions", "elements": made})
    return blocks


def _button(button: HomeButton, action_id: str) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "button", "action_id": action_id, "value": button.does}
    made["text"] = plain_text(button.label, _BUTTON)
    if button.asks:
        label = plain_text(button.label, 30)
        words = {"title": label, "text": plain_text(button.asks, 300), "confirm": label}
        made["confirm"] = words | {"deny": plain_text("✕", 30)}
    return made


@dataclass(frozen=True, slots=True)
class FeedbackAnswers:
    """The answers to feedback, sent after its acknowledgement."""

    intake: Intake
    answers: PrivateAnswers

    def handle(self, arrival: Arrival, acceptance: Acceptance, body: Mapping[str, Any]) -> None:
        """Handle the stored arrival and its payload in the background."""
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
        """Open the modal for a complaint, or thank a user who was asked before or can't be asked."""
        if await self.intake.may_ask_why(feedback):
            words = await self.answers.words_for(feedback.channel, feedback.author)
            view = complaint_dialog(words, feedback.channel, feedback.ts)
            try:
                await self.answers.open(body, view)
            except ChannelError:
                pass  # the trigger_id has expired after three seconds, or the app lacks the right
            else:
                return
        self.answers.tell("feedback_sorry", body)

    async def _thank(self, feedback: Feedback) -> None:
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


Manages = Callable[[str, str], Awaitable[bool]]
"""A check that a person may manage a channel, both given by id."""


@dataclass(frozen=True, slots=True)
class RoomForms:
    """The handler of the slash command and of the home tab's buttons that open the channel's modal."""

    reader: EventReader
    answers: PrivateAnswers
    ways: ChannelSettingsStore
    manages: Manages

    def handle(self, body: Mapping[str, Any]) -> None:
        """Open the modal in the background if the payload is such a slash command or button."""
        if (act := pressed(body, self.reader)) is not None and act.home.startswith(SETS_UP):
            self.answers.later(partial(self._open_at_home, act.author, act.home.partition(" ")[2], body))
        if "command" not in body or typed(_text(body, "text")).command is not Command.CHANNEL:
            return
        mine = _text(body, "team_id") == self.reader.identity.team
        if mine and self.reader.soul_commanded(_text(body, "command")):
            self.answers.later(partial(self._open, body))

    async def _open(self, body: Mapping[str, Any]) -> None:
        person, channel, team = _text(body, "user_id"), _text(body, "channel_id"), self.reader.identity.team
        try:
            if not (await self.answers.standing_of(person)).admitted:
                return  # the command's own answer is the refusal
            if not await self.manages(person, channel):
                self.answers.tell("room_not_yours", body)
                return
            way, words = await self.ways.of(team, channel), await self.answers.words_for(channel, person)
            view = room_dialog(words, way, self.reader.souls, channel=channel)
            await self.answers.open(body, view)
        except (ChannelError, StoreError):
            self.answers.tell("command_later", body)

    async def _open_at_home(self, person: str, channel: str, body: Mapping[str, Any]) -> None:
        """Open the modal of a channel, or one that says why not, since the home tab has no room for messages."""
        words = await self.answers.words_for(channel, person)
        try:
            if not (await self.answers.standing_of(person)).admitted:
                return  # their home tab shows the refusal alone
            view = refusing_dialog(words, "room_not_yours")
            if await self.manages(person, channel):
                way = await self.ways.of(self.reader.identity.team, channel)
                view = room_dialog(words, way, self.reader.souls, channel=channel, at_home=True)
        except (ChannelError, StoreError):
            view = refusing_dialog(words, "command_later")
        await self.answers.open(body, view)


def _text(mapping: Mapping[str, Any], name: str) -> str:
    value = mapping.get(name)
    return value if isinstance(value, str) else ""
