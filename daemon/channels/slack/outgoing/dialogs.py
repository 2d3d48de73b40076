"""The dialogs that people fill in (Slack: modal views); `incoming/dialogs.py` reads what they send."""

import json
from collections.abc import Mapping
from typing import Any, Final

from daemon.channels.slack.incoming.dialogs import (
    ASK,
    ASK_WHERE,
    COMPLAINT,
    CORRECT,
    IN_PRIVATE,
    IN_THREAD,
    LONGEST_COMPLAINT,
    LONGEST_CORRECTION,
    LONGEST_QUESTION,
)
from daemon.core.sentences import Words

_TITLE: Final = 24  # characters of a title and of a button (Slack: modal view)
_LABEL: Final = 2_000
_CHOICE: Final = 75


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
