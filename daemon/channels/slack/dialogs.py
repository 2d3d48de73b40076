"""The modals that users fill in (Slack: modal views), each of which shows and reads itself, and the home tab."""

import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from daemon.channels.slack.event_reader import EventReader
from daemon.channels.slack.markup import inert
from daemon.channels.slack.message_text import clean
from daemon.channels.slack.mrkdwn import to_mrkdwn
from daemon.channels.slack.payload import Payload
from daemon.core.perception import Audience, AudienceKind, Place
from daemon.core.ports.arrivals import Arrival, AskedAbout, Complaint, RoomWaySent, TypedCommand
from daemon.core.room_ways import JOINS, LONGEST_INSTRUCTIONS, STREAMS, ChannelSettings
from daemon.core.sentences import Words
from daemon.core.settings_place import HomeButton, HomeItem, HomePage
from daemon.core.text import shortened
from daemon.core.value import Value

COMPLAINT, ASK, CORRECT, ROOM = "soul_complaint", "soul_ask", "soul_correct", "soul_room"
"""The ids of the modals, and of the first input of each."""
ASK_WHERE: Final = "soul_ask_where"
"""The input that chooses where the answer goes: IN_PRIVATE or IN_THREAD."""
IN_PRIVATE, IN_THREAD = "private", "thread"
ROOM_SOUL, ROOM_STREAMS, ROOM_JOINS = "soul_room_soul", "soul_room_streams", "soul_room_joins"
USUAL: Final = "usual"
"""The choice that sets nothing."""
CORRECTS: Final = "wrong"
"""The prefix of what is done with a fact that is corrected: a button's value, and the command of the home tab."""

_TITLE: Final = 24  # characters of a title and of a button (Slack: modal view)
_LABEL: Final = 2_000
_CHOICE: Final = 75
_OPTIONS: Final = 10  # radio buttons of a group
_MOST_ABOUT: Final = 3_000  # characters (Slack: private_metadata)
_LONGEST: Final = 3_000  # characters of one input

View = dict[str, Any]


class Input(Value):
    """An input of a modal: a text of at most `longest` characters, or radio buttons if that is 0.

    `label` and `hint` are keys of sentences.
    """

    id: str
    label: str
    longest: int = 0
    hint: str = ""
    optional: bool = False

    def block(self, words: Words, choices: Mapping[str, str], value: str) -> View:
        """Return the input's block with its first value. `choices` are the texts of the radio buttons by value."""
        block: View = {"type": "input", "block_id": self.id, "label": plain_text(words.say(self.label))}
        block |= {"optional": True} if self.optional else {}
        block |= {"hint": plain_text(words.say(self.hint))} if self.hint else {}
        return block | {"element": self._text(value) if self.longest else self._radio(choices, value)}

    def _text(self, value: str) -> View:
        text = {"type": "plain_text_input", "action_id": self.id, "multiline": True, "max_length": self.longest}
        return text | ({"initial_value": value} if value else {})

    def _radio(self, choices: Mapping[str, str], value: str) -> View:
        """Return radio buttons. Slack shows ten; a choice that is no longer offered selects the first."""
        offered = list(choices.items())[:_OPTIONS]
        options = {one: {"text": plain_text(text, _CHOICE), "value": one} for one, text in offered}
        initial = options.get(value, next(iter(options.values())))
        return {
            "type": "radio_buttons",
            "action_id": self.id,
            "options": [*options.values()],
            "initial_option": initial,
        }

    def read(self, given: Payload) -> str:
        """Return what a user put in. A choice may be any text."""
        value = (given.text("value") or given.part("selected_option").text("value"))[:_LONGEST]
        return clean(value).strip()[: self.longest] if self.longest else value


class Submission(Value):
    """A modal that a user of our workspace submitted.

    `event_id` is the same if Slack sends the submission twice. `about` is our private_metadata. `values` are those of
    all inputs, by id. Both are untrusted.
    """

    event_id: str
    author: str
    about: Payload
    values: Mapping[str, str]


class Dialog(Value):
    """A modal. `title` and `send`, its button, are keys of sentences; `arrival` makes the arrival of a submission."""

    id: str
    title: str
    send: str
    inputs: tuple[Input, ...]
    arrival: Callable[[EventReader, Submission], Arrival | None]

    def view(
        self,
        words: Words,
        *above: View,
        choices: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
        values: Mapping[str, str] = MappingProxyType({}),
        **about: str,
    ) -> View:
        """Return the view, with sections `above` the inputs. `about` comes back with the submission.

        Radio buttons without `choices` are left out.
        """
        shown = [one for one in self.inputs if one.longest or choices.get(one.id)]
        blocks = [one.block(words, choices.get(one.id, {}), values.get(one.id, "")) for one in shown]
        view = self._modal(words, self.id, [*above, *blocks])
        return view | {"private_metadata": json.dumps(about), "submit": plain_text(words.say(self.send), _TITLE)}

    def refusal(self, words: Words, sentence: str) -> View:
        """Return a modal with the same title that only shows why this one is refused."""
        return self._modal(words, "soul_refused", [section(words.tell(sentence))])

    def _modal(self, words: Words, callback_id: str, blocks: list[View]) -> View:
        titles = {"title": words.say(self.title), "close": words.say("feedback_close")}
        labels = {name: plain_text(label, _TITLE) for name, label in titles.items()}
        return {"type": "modal", "callback_id": callback_id, "blocks": blocks, **labels}

    def read(self, reader: EventReader, payload: Payload) -> Arrival | None:
        """Return the arrival of a view_submission payload, or None if the user may not send it."""
        view, author = payload.part("view"), reader.author_of(payload)
        if not (author and (view_id := view.id("id"))):
            return None
        blocks = map(Payload.of, view.part("state").part("values").data.values())
        given = {name: Payload.of(one) for block in blocks for name, one in block.data.items()}
        values = {one.id: one.read(given.get(one.id, Payload({}))) for one in self.inputs}
        return self.arrival(reader, Submission(f"dialog:{view_id}:{author}", author, _about(view), values))


def _about(view: Payload) -> Payload:
    written = view.text("private_metadata")
    try:
        return Payload.of(json.loads(written) if written and len(written) <= _MOST_ABOUT else {})
    except (ValueError, RecursionError):
        return Payload({})


def section(text: str) -> View:
    return {"type": "section", "text": plain_text(text)}


def plain_text(text: str, most: int = _LABEL) -> dict[str, str]:
    return {"type": "plain_text", "text": text if len(text) <= most else f"{text[: most - 1]}…"}


def _complaint(reader: EventReader, sent: Submission) -> Complaint | None:
    channel, ts, text = sent.about.id("channel"), sent.about.ts("ts"), sent.values[COMPLAINT]
    if not (channel and ts and text):
        return None
    return Complaint(*reader.at(sent.event_id, channel, ts), sent.author, text)


def _question(reader: EventReader, sent: Submission) -> AskedAbout | None:
    """Return the question about a message. It is answered in private if the soul is not in the channel."""
    channel, ts, question = sent.about.id("channel"), sent.about.ts("ts"), sent.values[ASK]
    if not (channel and ts and question):
        return None
    words = f"{question}\n\n{clean(sent.about.text('quote'))}"
    there = reader.places.get(channel)
    if sent.values[ASK_WHERE] == IN_THREAD and there is not None and there is not Place.DM:
        where = (*reader.at(sent.event_id, channel, ts), there, reader.audience_in(there, channel))
        return AskedAbout(*where, sent.author, words)
    nowhere = Audience(AudienceKind.DM, sent.author)
    return AskedAbout(sent.event_id, reader.soul, reader.identity.team, "", "", Place.DM, nowhere, sent.author, words)


def _correction(reader: EventReader, sent: Submission) -> TypedCommand | None:
    fact, words = sent.about.id("fact"), sent.values[CORRECT]
    return at_home(reader, sent.event_id, sent.author, f"{CORRECTS} {fact}", words) if fact and words else None


def at_home(reader: EventReader, event_id: str, author: str, does: str, words: str = "") -> TypedCommand:
    """Return what a user does on the home tab. The user's DM is not looked up yet."""
    nowhere = Audience(AudienceKind.DM, author)
    return TypedCommand(event_id, reader.soul, reader.identity.team, "", nowhere, "", author, words, home=does)


def _room_way(reader: EventReader, sent: Submission) -> RoomWaySent | None:
    """Return the chosen settings of a channel. A value that is not offered counts as not chosen."""
    channel = sent.about.id("channel")
    if not channel or channel.startswith("D"):
        return None
    offered = {ROOM_SOUL: reader.souls, ROOM_STREAMS: STREAMS, ROOM_JOINS: JOINS}
    soul, streams, joins = (value if (value := sent.values[name]) in values else "" for name, values in offered.items())
    way = ChannelSettings(sent.values[ROOM], soul, streams, joins, sent.author)
    there = reader.places.get(channel) or Place.PRIVATE_CHANNEL
    where = (reader.soul_in(channel), reader.identity.team, channel, there, reader.audience_in(there, channel))
    return RoomWaySent(sent.event_id, *where, sent.author, way)


COMPLAINS: Final = Dialog(
    COMPLAINT,
    "feedback_title",
    "feedback_send",
    (Input(COMPLAINT, "feedback_ask", longest=1_000, hint="feedback_hint"),),
    _complaint,
)
"""It asks what was wrong with the reply `ts` in a `channel`."""
ASKS: Final = Dialog(
    ASK,
    "ask_about_title",
    "ask_about_send",
    (Input(ASK, "ask_about_ask", longest=1_500), Input(ASK_WHERE, "ask_about_where", optional=True)),
    _question,
)
"""It takes a question about the quoted message."""
CORRECTING: Final = Dialog(
    CORRECT, "home_correct", "home_correct_send", (Input(CORRECT, "home_correct_ask", longest=500),), _correction
)
"""It takes the correction of a `fact`, by its id."""
SETTING_UP: Final = Dialog(
    ROOM,
    "room_title",
    "room_send",
    (
        Input(ROOM, "room_instructions", longest=LONGEST_INSTRUCTIONS, hint="room_instructions_hint", optional=True),
        Input(ROOM_SOUL, "room_soul", optional=True),
        Input(ROOM_STREAMS, "room_streams", optional=True),
        Input(ROOM_JOINS, "room_joins", optional=True),
    ),
    _room_way,
)
"""It takes the settings of a `channel`."""
DIALOGS: Final[Mapping[str, Dialog]] = MappingProxyType(
    {one.id: one for one in (COMPLAINS, ASKS, CORRECTING, SETTING_UP)}
)


def settings_view(
    words: Words, way: ChannelSettings, souls: Sequence[str], *, channel: str, names_channel: bool
) -> View:
    """Return the modal for the settings of a channel, filled in with `way`. `souls` may answer there."""
    above = [{"type": "section", "text": {"type": "mrkdwn", "text": f"*<#{channel}>*"}}] if names_channel else []
    named = {USUAL: words.say("room_soul_usual"), **{one: one for one in souls}}
    choices = {
        ROOM_SOUL: named if len(souls) > 1 else {},
        ROOM_STREAMS: _usual_or(words, STREAMS, "room_usual", "room_streams_on", "room_streams_off"),
        ROOM_JOINS: _usual_or(words, JOINS, "room_joins_threads", "room_joins_mention"),
    }
    values = {ROOM: way.instructions, ROOM_SOUL: way.soul, ROOM_STREAMS: way.streams, ROOM_JOINS: way.joins}
    return SETTING_UP.view(words, *above, choices=choices, values=values, channel=channel)


def _usual_or(words: Words, values: Sequence[str], *keys: str) -> dict[str, str]:
    return {value or USUAL: words.say(key) for value, key in zip(values, keys, strict=True)}


HOME_ACTION: Final = "soul_home"
"""The prefix of the ids of all buttons on the home tab."""

_BLOCKS: Final = 100
_HOME_TITLE, _SECTION, _BUTTON = 150, 2_900, 75
_LARGEST: Final = 60_000  # characters of all texts; Slack takes some 250 kB a view


def home_view(page: HomePage) -> View:
    """Return the view of a page. Sections beyond Slack's sizes are left out at the end."""
    blocks, size = list[View](), 0
    for part in page:
        items = [_item(item, len(blocks) + place) for place, item in enumerate(part.items)]
        made = [
            {"type": "header", "text": plain_text(part.title, _HOME_TITLE)},
            *(one for item in items for one in item),
        ]
        size += sum(len(item.text) for item in part.items)
        if len(blocks) + len(made) >= _BLOCKS or size > _LARGEST:
            break
        blocks += [*made, {"type": "divider"}]
    return {"type": "home", "callback_id": HOME_ACTION, "blocks": blocks[:-1]}


def _item(item: HomeItem, number: int) -> list[View]:
    text = shortened(to_mrkdwn(inert(item.text)), _SECTION)
    blocks: list[View] = [{"type": "section", "text": {"type": "mrkdwn", "text": text}}]
    if item.buttons:
        made = [_button(one, f"{HOME_ACTION}:{number}:{place}") for place, one in enumerate(item.buttons)]
        blocks.append({"type": "actions", "elements": made})
    return blocks


def _button(button: HomeButton, action_id: str) -> View:
    made: View = {"type": "button", "action_id": action_id, "value": button.does}
    made["text"] = plain_text(button.label, _BUTTON)
    if button.asks:
        label = plain_text(button.label, 30)
        words = {"title": label, "text": plain_text(button.asks, 300), "confirm": label}
        made["confirm"] = words | {"deny": plain_text("✕", 30)}
    return made
