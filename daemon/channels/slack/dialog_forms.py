"""The dialogs that people fill in (Slack: modal views); `incoming/dialogs.py` reads what they send."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from daemon.channels.slack.dialog_payloads import (
    ASK,
    ASK_WHERE,
    COMPLAINT,
    CORRECT,
    IN_PRIVATE,
    IN_THREAD,
    LONGEST_COMPLAINT,
    LONGEST_CORRECTION,
    LONGEST_QUESTION,
    ROOM,
    ROOM_JOINS,
    ROOM_SOUL,
    ROOM_STREAMS,
    USUAL,
)
from daemon.core.room_ways import JOINS, LONGEST_INSTRUCTIONS, STREAMS, RoomWay
from daemon.core.sentences import Words

REFUSED: Final = "soul_refused"
"""A dialog that only says something; nothing of it is sent."""

_TITLE: Final = 24  # characters of a title and of a button (Slack: modal view)
_LABEL: Final = 2_000
_CHOICE: Final = 75
_OPTIONS: Final = 10  # radio buttons of a group


def complaint_dialog(words: Words, channel: str, ts: str) -> dict[str, Any]:
    """Asks what was wrong with the reply `ts`."""
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
    """Takes a question about a message whose `quote` it shows; `there`: the answer may go into its thread."""
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
    """Takes what is right in place of a fact, by its id."""
    labels = {"title": "home_correct", "submit": "home_correct_send", "close": "feedback_close"}
    right = {"type": "plain_text_input", "action_id": CORRECT, "multiline": True, "max_length": LONGEST_CORRECTION}
    asked = {"type": "input", "block_id": CORRECT, "label": plain_text(words.say("home_correct_ask")), "element": right}
    return modal(CORRECT, {name: words.say(key) for name, key in labels.items()}, [asked], fact=fact)


def refusing_dialog(words: Words, key: str) -> dict[str, Any]:
    """Takes nothing: it says by the sentence of a key why the form of a channel can't be opened."""
    labels = {"title": words.say("room_title"), "close": words.say("feedback_close")}
    return modal(REFUSED, labels, [{"type": "section", "text": plain_text(words.say(key))}])


def room_dialog(
    words: Words, way: RoomWay, souls: Sequence[str], *, channel: str, at_home: bool = False
) -> dict[str, Any]:
    """Takes how the soul works in a channel, filled in with what is set; `souls` are those that may answer there.

    `at_home`: it is opened on the home tab, and so it names the channel.
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
    """Radio buttons, of which one that is not offered any more leaves the first chosen; Slack shows ten."""
    options = {value: _choice(text, value) for value, text in list(named.items())[:_OPTIONS]}
    initial = options.get(chosen or USUAL, options[USUAL])
    return {"type": "radio_buttons", "action_id": action, "options": [*options.values()], "initial_option": initial}


def _choice(text: str, value: str) -> dict[str, Any]:
    return {"text": plain_text(text, _CHOICE), "value": value}


def modal(callback_id: str, labels: Mapping[str, str], blocks: list[dict[str, Any]], **about: str) -> dict[str, Any]:
    """A modal view with its `title`, and the labels of `submit` and `close`; `about` comes back when it is sent."""
    return {
        "type": "modal",
        "callback_id": callback_id,
        "private_metadata": json.dumps(about),
        **{name: plain_text(label, _TITLE) for name, label in labels.items()},
        "blocks": blocks,
    }


def plain_text(text: str, most: int = _LABEL) -> dict[str, str]:
    """A plain text object, cut to a size."""
    return {"type": "plain_text", "text": text if len(text) <= most else f"{text[: most - 1]}…"}
