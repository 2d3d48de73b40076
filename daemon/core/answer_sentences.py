"""What the daemon says about its own answers: that one was stopped, and what people think of them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

ABOUT_ANSWERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "untitled": "What you showed me",
        "stop_begun": "Stopped.",
        "stop_before": "Stopped before I had said anything.",
        "stop_spent": "So far it took {tokens} tokens.",
        "stop_spent_usd": "So far it took {tokens} tokens, about ${usd}.",
        "stop_rest": "Stopped: I leave out the rest of my answer.",
        "lapsed": "No longer asked: it was stopped.",
        "stop_one": "I have stopped what I was doing for you.",
        "stop_several": "I have stopped {count} things that I was doing for you.",
        "stop_nothing": "I am doing nothing here that could be stopped.",
        "feedback_thanks": "Thank you, that helps me.",
        "feedback_sorry": "Thank you for telling me. If you like, write in the thread what was wrong.",
        "feedback_title": "What was wrong?",
        "feedback_ask": "What was wrong with this answer?",
        "feedback_hint": "I keep your words with this answer; my admins can read them.",
        "feedback_send": "Send",
        "feedback_close": "Not now",
        "because_judged": "(People on answers that had this: good {good}, bad {bad}.)",
        "feedback_kept": "Thank you, I have noted what was wrong.",
    }
)
"""A part of `SENTENCES`."""
