"""A prompt's messages in the form that every chat API accepts: none blank, clean text, the user first and last."""

import json
from dataclasses import replace

from daemon.core.ports.models import Message, Prompt, Speaker, SystemPart
from daemon.llm.clean_text import clean

_EARLIER = Message(Speaker.USER, "(The conversation began earlier.)")
_SILENCE = Message(Speaker.USER, "(Nothing new was said.)")


def chat_of(prompt: Prompt) -> list[Message]:
    """The prompt's messages; APIs refuse blank ones, and newer ones refuse an assistant's message at the end."""
    cleaned = [replace(each, text=clean(each.text)) for each in prompt.messages]
    messages = [each for each in cleaned if each.text.strip()]
    if messages and messages[0].speaker is not Speaker.USER:
        messages.insert(0, _EARLIER)
    if not messages or messages[-1].speaker is not Speaker.USER:
        messages.append(_SILENCE)
    return messages


def system_of(prompt: Prompt) -> list[SystemPart]:
    """The prompt's system parts in the same form; a mark for the cache on a blank one is refused too."""
    cleaned = [replace(each, text=clean(each.text)) for each in prompt.system]
    return [each for each in cleaned if each.text.strip()]


def schema_in_words(prompt: Prompt) -> str:
    """The instruction that replaces structured output where a back-end has none."""
    schema = clean(json.dumps(prompt.json_schema, ensure_ascii=False))  # in the order in which the fields are asked for
    return f"Answer with one JSON value that fits this JSON Schema, without a code fence or any other word:\n{schema}"
