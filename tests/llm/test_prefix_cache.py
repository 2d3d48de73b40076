"""How the bench counts what was sent before: by the rules of the vendors' caches, from their own clients' requests."""

from typing import Any

import pytest

from bench.model_server import model_server
from bench.prefix_cache import AutomaticCache, MarkedCache
from bench.thinker import Thinker
from daemon.core.config import load_settings
from daemon.core.ports.services import SystemPart
from daemon.llm.router import Router
from tests.fakes import FakeClock
from tests.llm.prompts import answer, prompt

STABLE = "A rule of the house. " * 400  # 2,100 tokens


def chat(*texts: str, key: str = "", marked: frozenset[int] = frozenset()) -> dict[str, Any]:
    """A request with a mark behind each of the `marked` texts."""
    blocks = [
        {"text": text} | ({"cache_control": {"type": "ephemeral"}} if place in marked else {})
        for place, text in enumerate(texts)
    ]
    return {"model": "m", "prompt_cache_key": key, "messages": [{"role": "user", "content": blocks}]}


def test_a_prefix_counts_as_the_vendors_count_it_and_memories_apart() -> None:
    cache = AutomaticCache()
    first, again = cache.count(chat(STABLE, "one")), cache.count(chat(STABLE, "two"))
    assert (first.cached, first.written) == (0, 2048)
    assert (again.cached, again.written) == (2048, 0)
    assert AutomaticCache().count(chat("short")).written == 0
    assert cache.count(chat(STABLE, "two", key="another")).cached == 0
    marks = MarkedCache({"m": 1024})
    first = marks.count(chat(STABLE, "a mode", "one", marked=frozenset({0})))
    assert (first.cached, first.written) == (0, first.tokens - 3 - 3)
    again = marks.count(chat(STABLE, "a mode", "two", marked=frozenset({0, 1})))
    assert (again.cached, again.written) == (first.written, 3)
    assert marks.count(chat(STABLE, "a mode", "three", marked=frozenset({1}))).cached == first.written + 3
    assert marks.count(chat(STABLE, "a mode", "three")).cached == 0, "without a mark nothing is looked for"
    assert marks.count(chat("Another soul.", STABLE, marked=frozenset({1}))).cached == 0
    for between, found in ((20, True), (21, False)):
        marks, texts = MarkedCache({"m": 1024}), [str(number) for number in range(between)]
        marks.count(chat(STABLE, marked=frozenset({0})))
        assert (marks.count(chat(STABLE, *texts, marked=frozenset({between}))).cached > 0) is found
    small = MarkedCache({"m": 4096})
    assert [small.count(chat(STABLE, marked=frozenset({0}))).written for _ in range(2)] == [0, 0]
    region = "## Memories\n" + "a note " * 40
    counted = AutomaticCache().count(chat(f"<context-x>\n{region}\n## Now\nIt is noon.\n</context-x>"))
    assert 70 <= counted.memories <= 75


@pytest.mark.parametrize("model", ["anthropic/claude-sonnet-5-5", "openai/gpt-5.6-terra"])
async def test_the_daemon_is_told_the_usage_that_was_counted(model: str) -> None:
    thinker = Thinker(cache=MarkedCache({"claude-sonnet-5-5": 512}) if "claude" in model else AutomaticCache())
    async with model_server() as server:
        server.thinker = thinker
        settings = load_settings(
            persona_model=model,
            anthropic_api_key="k",
            anthropic_base_url=server.url,
            openai_api_key="k",
            openai_base_url=f"{server.url}/v1",
        )
        router = Router(settings, FakeClock())
        asked = prompt("hello", system=(SystemPart(STABLE, stable=True), SystemPart("It is noon.")))
        told = [(await answer(router, asked))[1] for _ in range(2)]
        await router.aclose()
    counted = [(one.tokens, one.cached, one.written) for one in thinker.counted]
    assert [(one.tokens_in, one.tokens_cached, one.tokens_written) for one in told] == counted
    assert told[0].tokens_cached == 0 < told[1].tokens_cached
