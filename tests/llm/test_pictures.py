"""Pictures in prompts: each protocol sends them in its own form, and a model without eyes is not made to guess."""

from contextlib import aclosing
from dataclasses import replace

import pytest

from daemon.core.errors import CannotSee
from daemon.core.ports.models import Image, Message, Prompt, Speaker
from daemon.llm.router import Router
from tests.fakes import FakeClock
from tests.llm.conftest import settings_for
from tests.llm.prompts import answer, prompt
from tests.llm.providers import Answer, AnthropicServer, OpenAIServer

PICTURE = Image("image/jpeg", b"\xff\xd8picture")
SENT = "/9hwaWN0dXJl"


def shown(model: str = "", *, needs_eyes: bool = False) -> Prompt:
    """A prompt whose last message shows a picture."""
    message = Message(Speaker.USER, "What is this?", images=(PICTURE,))
    return replace(prompt(), messages=(message,), model=model, needs_eyes=needs_eyes)


async def test_each_vendor_is_sent_the_picture_in_its_own_form(
    anthropic_server: AnthropicServer, openai_server: OpenAIServer, clock: FakeClock
) -> None:
    for server, model, picture in (
        (
            anthropic_server,
            "anthropic/m",
            {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": SENT}},
        ),
        (
            openai_server,
            "openai/gpt-4o",
            {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{SENT}"}},
        ),
    ):
        async with aclosing(Router(settings_for(server), clock)) as router:
            await answer(router, shown(model))
        content = server.asked[0].body["messages"][-1]["content"]
        assert content == [picture, {"type": "text", "text": "What is this?"}]


async def test_a_model_without_eyes_reads_that_it_has_none_and_one_that_needs_them_is_not_asked(
    openai_server: OpenAIServer, clock: FakeClock
) -> None:
    async with aclosing(Router(settings_for(openai_server), clock)) as router:
        await answer(router, shown("openai/gpt-3.5-turbo"))
        with pytest.raises(CannotSee):
            await answer(router, shown("openai/gpt-3.5-turbo", needs_eyes=True))
    said = openai_server.asked[0].body["messages"][-1]["content"]
    assert said.startswith("What is this?\n\n(Here a picture was shown to you, and you can't see pictures.")
    assert len(openai_server.asked) == 1


async def test_a_model_that_refuses_pictures_gets_none_from_then_on(
    openai_server: OpenAIServer, clock: FakeClock
) -> None:
    openai_server.script.append(Answer(status=400, message="image_url is only supported by certain models"))
    async with aclosing(Router(settings_for(openai_server), clock)) as router:
        for _ in range(2):
            await answer(router, shown("openai/gpt-4o"))
    contents = [one.body["messages"][-1]["content"] for one in openai_server.asked]
    assert [isinstance(one, list) for one in contents] == [True, False, False]
