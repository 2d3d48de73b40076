"""The dialogs that people fill in (Slack: modal views); `incoming/dialogs.py` reads what they send."""

import json
from collections.abc import Mapping
from typing import Any, Final

from daemon.channels.slack.incoming.dialogs import COMPLAINT, LONGEST_COMPLAINT
from daemon.core.sentences import Words

_TITLE: Final = 24  # characters of a title and of a button (Slack: modal view)
_LABEL: Final = 2_000


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
