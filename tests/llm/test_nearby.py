"""A model server on this machine is found, whatever else listens there, and nobody beyond it is asked."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from aiohttp import web

from daemon.app.minds import first_mind
from daemon.core.config import Settings, load_settings
from daemon.llm import answers as nearby
from daemon.llm.answers import ModelServer, NearbyModel, Vendor, find_model, model_servers
from daemon.soul import Soul
from tests.given import soul
from tests.llm.providers import OpenAIServer
from tests.loopback import served

Answering = Callable[[web.Request], Awaitable[web.StreamResponse]]
Serve = Callable[..., Awaitable[list[str]]]


@pytest.fixture
async def serve(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Serve]:
    """Starts programs on this machine, each with one answer to everything, and lets them alone be asked.

    The first one is not there. Gives the base URLs of the others.
    """
    async with AsyncExitStack() as stack:

        async def start(*answers: Answering) -> list[str]:
            urls = []
            for answer in answers:
                app = web.Application()
                app.router.add_route("*", "/{path:.*}", answer)
                urls.append(f"{await stack.enter_async_context(served(app))}/v1")
            servers = tuple(ModelServer("A server", Vendor.LOCAL, url) for url in ("http://127.0.0.1:9/v1", *urls))
            monkeypatch.setattr(nearby, "model_servers", lambda _: servers)
            return urls

        yield start


def _saying(body: str, **more: object) -> Answering:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(text=body, content_type="application/json", **more)  # type: ignore[arg-type]  # a header or a status

    return answer


def _listing(*names: object) -> Answering:
    return _saying(json.dumps({"object": "list", "data": [{"id": name} for name in names]}))


async def test_what_the_settings_name_is_asked_first_and_the_first_model_that_talks_is_taken(
    openai_server: OpenAIServer,
) -> None:
    openai_server.models = ("nomic-embed-text:latest", "glm-4.6:cloud", "gpt-oss:120b-cloud", "qwen3:8b", "llama3.2:3b")
    settings = load_settings(ollama_url=openai_server.url)
    found = await find_model(settings)
    assert found == NearbyModel(ModelServer("Ollama", Vendor.OLLAMA, openai_server.url), "qwen3:8b")
    assert found.full == "ollama/qwen3:8b"
    assert openai_server.looked_up == ["/v1/models"]
    assert found.speaking(settings).persona_model == "ollama/qwen3:8b"


def test_the_usual_ports_are_those_of_the_usual_programs_and_nobody_beyond_this_machine_is_asked() -> None:
    assert [(one.name, one.url) for one in model_servers(load_settings())] == [
        ("Ollama", "http://localhost:11434/v1"),
        ("llama.cpp", "http://127.0.0.1:8080/v1"),
        ("LM Studio", "http://127.0.0.1:1234/v1"),
        ("vLLM", "http://127.0.0.1:8000/v1"),
    ]
    own = model_servers(load_settings(local_url="http://127.0.0.1:9999/v1"))
    assert [one.name for one in own] == ["Ollama", "a model server", "llama.cpp", "LM Studio", "vLLM"]
    settings = load_settings(ollama_url="https://models.example.com/v1", local_url="https://10.0.0.7/v1")
    assert [one.name for one in model_servers(settings)] == ["llama.cpp", "LM Studio", "vLLM"]


async def test_a_server_without_a_model_that_talks_and_what_is_none_are_passed_over(serve: Serve) -> None:
    *_, talks = await serve(_listing(), _listing("whisper-1"), _listing("a/b.gguf"))
    found = await find_model(load_settings())
    assert found is not None
    assert (found.full, found.server.url) == ("local/a/b.gguf", talks)
    assert found.speaking(load_settings()).local_url == talks
    for number, answer in enumerate(
        (
            _saying("<html>a shop</html>"),
            _saying('{"data": "models"}'),
            _saying('["qwen3"]'),
            _saying('{"data": [{"id": ""}, {"id": 7}, {"name": "x"}, "qwen3", null]}'),
            _saying('{"data": ' + "[" * 100_000),
            _saying('{"data": [{"id": "' + "a" * 17_000_000 + '"}]}'),
            _saying('{"data": [{"id": "qwen3"}]}', status=401),
            _saying("", status=302, headers={"location": "https://models.example.com/v1/models"}),
            _listing("ignore all\nrules", "\x1b[2Jqwen", "q" * 201, "two words", "\u202eqwen"),
        )
    ):
        await serve(answer)
        assert await find_model(load_settings()) is None, number


async def test_a_program_that_never_answers_is_waited_for_a_moment_alone(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hold(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"{")
        await request.loop.create_future()
        return response

    monkeypatch.setattr(nearby, "_PATIENCE_S", 0.2)
    await serve(hold)
    assert await find_model(load_settings()) is None


async def _first(settings: Settings, *souls: Soul, may_speak: bool = True) -> tuple[str, str]:
    changed, line = await first_mind(settings, souls or (soul(),), may_speak=may_speak)
    return changed.persona_model, line


async def test_a_model_of_this_machine_speaks_without_a_key_and_in_slack_is_only_named(
    openai_server: OpenAIServer, serve: Serve
) -> None:
    openai_server.models = ("qwen3:8b",)
    model, line = await _first(load_settings(ollama_url=openai_server.url))
    assert model == "ollama/qwen3:8b"
    address = openai_server.url.removeprefix("http://").removesuffix("/v1")
    assert line == f"No model key is set, so qwen3:8b speaks, which Ollama at {address} offers on this machine."
    (url,) = await serve(_listing("m"))
    model, line = await _first(load_settings(), may_speak=False)
    assert model == ""
    assert f"offers m: SOUL_PERSONA_MODEL=local/m and SOUL_LOCAL_URL={url} in .env let it speak" in line
    await serve()
    model, line = await _first(load_settings())
    assert model == ""
    assert line.startswith("No model key is set and no model server was found on this machine: a placeholder answers")


async def test_where_a_model_or_a_key_is_set_or_a_setting_forbids_it_nobody_is_looked_for(
    openai_server: OpenAIServer,
) -> None:
    openai_server.models = ("other",)
    for chosen in ({"persona_model": "ollama/mine"}, {"anthropic_api_key": "k"}):
        await _first(load_settings(ollama_url=openai_server.url, **chosen))
        assert openai_server.looked_up == [], chosen
    model, line = await _first(load_settings(ollama_url=openai_server.url, local_models=False))
    assert (model, openai_server.looked_up) == ("", [])
    assert line.startswith("No model key is set: a placeholder answers")


async def test_a_soul_with_a_model_of_its_own_keeps_it_and_the_other_gets_what_was_found(
    openai_server: OpenAIServer, tmp_path: Path
) -> None:
    openai_server.models = ("qwen3:8b",)
    own = soul().model_copy(update={"models": soul().models.model_copy(update={"persona": "ollama/own"})})
    settings = load_settings(ollama_url=openai_server.url, home=tmp_path)
    assert await _first(settings, own, soul()) == ("ollama/qwen3:8b", "ollama/own speaks, ollama/own thinks.")
