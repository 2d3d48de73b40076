"""A model on loopback that answers each cognitive step from a script, over OpenAI's Chat Completions protocol."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web

from daemon.core.value import Value
from tests.loopback import served

MODEL: Final = "openai/loopback"
PICTURE: Final = "[a picture]"
"""Stands in a prompt's text where a picture was shown."""
_SAID: Final = re.compile(  # what a user said, or a note that has fallen due
    r'<(?P<tag>(?:said-|note-(?=\w+ about="made for ))\w+)[^>]*>\s*(?P<text>.*?)\s*</(?P=tag)>', re.DOTALL
)
_PIECE: Final = re.compile(r"\s*\S+\s*")
_SIGNS: Final = (  # a text in the prompt of each step that has no JSON schema
    ("use_tool", 'Answer with JSON: {"tool"'),
    ("poetic_composition", "Let one image carry it"),
    ("internal_monologue", "your private thought, in one to four sentences"),
    ("external_dialog", "no thoughts, no stage directions, no name in front"),
    ("visitor_whispers", "the quiet voice within"),
    ("summarize", "Write one new summary"),
    ("digest", "Write a digest of it"),
    ("instruction", "Do just this and answer with the result alone"),
    ("respond", "<stimulus_verb"),
)


class ModelCall(Value):
    """One call: its cognitive step, the users' messages in the prompt, oldest first, and the whole prompt."""

    step: str
    messages: tuple[str, ...]
    prompt: str

    @property
    def last(self) -> str:
        return self.messages[-1] if self.messages else ""


@dataclass(slots=True)
class LoopbackModel:
    """`answer` gives the whole reply to a call; calls of a step in `held` wait for its event."""

    answer: Callable[[ModelCall], str]
    url: str = ""
    held: dict[str, asyncio.Event] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, str]:
        return {"OPENAI_BASE_URL": f"{self.url}/v1", "OPENAI_API_KEY": "sk-loopback", "SOUL_PERSONA_MODEL": MODEL}

    def hold(self, step: str) -> asyncio.Event:
        """Make calls of a step wait until the event is set."""
        self.held[step] = asyncio.Event()
        return self.held[step]

    async def complete(self, request: web.Request) -> web.StreamResponse:
        call = _call(await request.json())
        if call.step in self.held:
            await self.held[call.step].wait()
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        answer = self.answer(call)
        used = {"prompt_tokens": len(call.prompt) // 4, "completion_tokens": len(answer) // 4, "total_tokens": 0}
        with suppress(ConnectionResetError):  # the daemon has cut the call
            for piece in _PIECE.findall(answer):
                await response.write(_frame({"content": piece}))
            await response.write(_frame({}, "stop", used) + b"data: [DONE]\n\n")
        return response


@asynccontextmanager
async def loopback_model(answer: Callable[[ModelCall], str]) -> AsyncIterator[LoopbackModel]:
    """A model that serves on a free port of 127.0.0.1."""
    model = LoopbackModel(answer)
    app = web.Application(client_max_size=64 << 20)
    app.router.add_post("/v1/chat/completions", model.complete)
    async with served(app) as url:
        model.url = url
        yield model


def tagged(reply: str, thought: str = "They want an answer.", *, learned: bool = False, moved: bool = False) -> str:
    """A well-formed reply to the step `respond`."""
    return (
        "<calls_for>nothing</calls_for>\n"
        "<stimulus_verb>asked</stimulus_verb>\n"
        f'<internal_monologue verb="weighed">{thought}</internal_monologue>\n'
        f'<external_dialogue verb="said">{reply}</external_dialogue>\n'
        f"<user_model_check>{str(learned).lower()}</user_model_check>\n"
        f"<soul_state_check>{str(moved).lower()}</soul_state_check>"
    )


def _call(body: dict[str, object]) -> ModelCall:
    messages = body["messages"]
    assert isinstance(messages, list)
    texts = [(one["role"], _text(one["content"])) for one in messages]
    prompt = "\n\n".join(text for _, text in texts)
    said = [match["text"] for role, text in texts if role == "user" for match in _SAID.finditer(text)]
    form = body.get("response_format")
    if isinstance(form, dict):
        return ModelCall(form["json_schema"]["name"], tuple(said), prompt)
    return ModelCall(next(step for step, sign in _SIGNS if sign in prompt), tuple(said), prompt)


def _text(content: str | list[dict[str, str]]) -> str:
    """A message's words; `PICTURE` stands for a picture among them."""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", PICTURE) for part in content)


def _frame(delta: dict[str, str], finish: str | None = None, used: dict[str, int] | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk = {"id": "chatcmpl-loopback", "object": "chat.completion.chunk", "created": 0, "model": "loopback"}
    return b"data: " + json.dumps({**chunk, "choices": [choice], "usage": used}).encode() + b"\n\n"
