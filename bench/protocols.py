"""The two protocols of the scripted model: how a request is read, and the frames of an answer and of its usage."""

import json
from collections.abc import Mapping
from typing import Any, Final, Protocol

Json = Mapping[str, Any]


class VendorProtocol(Protocol):
    """What the model server needs of a protocol. Usage has the fields of Chat Completions in both."""

    path: str

    def as_chat(self, body: Json) -> Json:
        """A request in the form of Chat Completions; marks for the cache stay at their blocks."""

    def opening(self, usage: Json | None) -> bytes:
        """The frames before the first piece."""

    def piece(self, text: str) -> bytes:
        """The frame of one piece."""

    def closing(self, usage: Json | None, *, whole: bool) -> bytes:
        """The frames behind the last piece; an answer that is not `whole` met its output limit."""


class ChatCompletions:
    """OpenAI's Chat Completions, streamed."""

    path: str = "/v1/chat/completions"

    def as_chat(self, body: Json) -> Json:
        """See `VendorProtocol`."""
        return body

    def opening(self, usage: Json | None) -> bytes:
        """See `VendorProtocol`."""
        del usage
        return b""

    def piece(self, text: str) -> bytes:
        """See `VendorProtocol`."""
        return _chunk(choices=[_choice({"content": text})])

    def closing(self, usage: Json | None, *, whole: bool) -> bytes:
        """See `VendorProtocol`."""
        last = _chunk(choices=[_choice({}, "stop" if whole else "length")])
        return last + (b"" if usage is None else _chunk(choices=[], usage=usage)) + b"data: [DONE]\n\n"


class AnthropicEvents:
    """Anthropic's Messages API, streamed."""

    path: str = "/v1/messages"

    def as_chat(self, body: Json) -> Json:
        """See `VendorProtocol`. What else a cached prefix depends on stands in `apart`."""
        system = [{"role": "system", "content": body["system"]}] if body.get("system") else []
        schema = body.get("output_config", {}).get("format", {}).get("schema")
        form = {"response_format": {"json_schema": {"name": "answer", "schema": schema}}} if schema else {}
        return {
            "model": body["model"],
            "max_tokens": body["max_tokens"],
            "messages": [*system, *body["messages"]],
            "apart": json.dumps([body.get("output_config"), body.get("thinking")], sort_keys=True),
            **form,
        }

    def opening(self, usage: Json | None) -> bytes:
        """See `VendorProtocol`."""
        details = (usage or {}).get("prompt_tokens_details", {})
        cached, written = details.get("cached_tokens", 0), details.get("cache_write_tokens", 0)
        counted = {
            "input_tokens": (usage or {}).get("prompt_tokens", 0) - cached - written,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": written,
            "output_tokens": 1,
        }
        message: dict[str, object] = {
            "id": "msg_loopback",
            "type": "message",
            "role": "assistant",
            "model": "loopback",
            "content": [],
        }
        message |= {"stop_reason": None, "stop_sequence": None, "usage": counted}
        block = {"type": "text", "text": ""}
        return _event("message_start", message=message) + _event("content_block_start", index=0, content_block=block)

    def piece(self, text: str) -> bytes:
        """See `VendorProtocol`."""
        return _event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})

    def closing(self, usage: Json | None, *, whole: bool) -> bytes:
        """See `VendorProtocol`."""
        stop = {"stop_reason": "end_turn" if whole else "max_tokens", "stop_sequence": None}
        counted = {"output_tokens": (usage or {}).get("completion_tokens", 0)}
        end = _event("message_delta", delta=stop, usage=counted)
        return _event("content_block_stop", index=0) + end + _event("message_stop")


PROTOCOLS: Final[tuple[VendorProtocol, ...]] = (ChatCompletions(), AnthropicEvents())


def _choice(delta: dict[str, str], finish: str | None = None) -> Json:
    return {"index": 0, "delta": delta, "finish_reason": finish}


def _chunk(**parts: object) -> bytes:
    head = {"id": "chatcmpl-loopback", "object": "chat.completion.chunk", "created": 0, "model": "loopback"}
    return b"data: " + json.dumps(head | parts).encode() + b"\n\n"


def _event(name: str, **parts: object) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **parts})}\n\n".encode()
