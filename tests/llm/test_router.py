"""The choice of models and their vendors, and what calls cost by the price list of the package."""

import pytest
from genai_prices import data_snapshot

from daemon.core.config import load_settings
from daemon.core.errors import ConfigError
from daemon.core.ports.services import Completion, Cost, ModelRole
from daemon.llm.answers import Vendor, parse_model_id
from daemon.llm.endpoint import Endpoint, endpoint_for
from daemon.llm.prices import cost_of, load, most_of, most_tokens_of, price_is_known
from daemon.llm.router import build_llm, choose_models
from tests.fakes import FakeClock
from tests.llm.conftest import settings_for
from tests.llm.prompts import answer, prompt
from tests.llm.providers import VendorServer


def quiet(event: str, /, **fields: object) -> None:
    """An Emit that drops everything."""


def test_the_prefix_names_the_vendor_and_addresses_on_this_machine_are_recognised() -> None:
    for text, vendor, name in (
        ("anthropic/claude-x", Vendor.ANTHROPIC, "claude-x"),
        ("openai/gpt-x", Vendor.OPENAI, "gpt-x"),
        ("groq/maker/model", Vendor.GROQ, "maker/model"),
        ("ollama/llama:8b", Vendor.OLLAMA, "llama:8b"),
        ("placeholder/echo", Vendor.PLACEHOLDER, "echo"),
        ("qwen/qwen3", Vendor.OPENROUTER, "qwen/qwen3"),
        ("openrouter/auto", Vendor.OPENROUTER, "openrouter/auto"),
        ("groq/", Vendor.OPENROUTER, "groq/"),
        ("plain", Vendor.OPENROUTER, "plain"),
    ):
        model = parse_model_id(f" {text} ")
        assert (model.full, model.vendor, model.name) == (text, vendor, name)
    known = endpoint_for(load_settings(), parse_model_id("ollama/x"))
    here = {
        "http://localhost:11434/v1": True,
        "http://127.8.0.1/": True,
        "http://[::1]:8080": True,
        "http://model.localhost": True,
        "https://api.example.com": False,
        "http://10.0.0.1": False,
        "nonsense": False,
    }
    assert {url: Endpoint(known.vendor, url, known.api_key, "", "").on_loopback for url in here} == here


def test_models_are_chosen_by_name_and_then_by_key_and_a_missing_one_is_named_before_any_call() -> None:
    claude = ("anthropic/claude-sonnet-5-5", "anthropic/claude-haiku-5-5")
    given: tuple[tuple[dict[str, object], tuple[str, str]], ...] = (
        ({}, ("placeholder/echo", "placeholder/echo")),
        ({"anthropic_api_key": "k"}, claude),
        ({"openai_api_key": "k"}, ("openai/gpt-5.6-terra", "openai/gpt-5.6-terra")),
        ({"openrouter_api_key": "k"}, ("qwen/qwen3-30b-a3b-instruct-2507",) * 2),
        ({"groq_api_key": "k"}, ("groq/moonshotai/kimi-k2-instruct-0905",) * 2),
        ({"persona_model": "ollama/a"}, ("ollama/a", "ollama/a")),
        ({"persona_model": "ollama/a", "thinking_model": "ollama/b"}, ("ollama/a", "ollama/b")),
        ({"persona_model": "ollama/a", "anthropic_api_key": "k"}, ("ollama/a", "ollama/a")),
        ({"thinking_model": "ollama/b"}, ("placeholder/echo", "ollama/b")),
        ({"anthropic_api_key": "k", "openai_api_key": "k"}, claude),
    )
    for settings, chosen in given:
        assert choose_models(load_settings(**settings)) == chosen, settings
    for field, model, variable in (
        ("persona_model", "anthropic/x", "ANTHROPIC_API_KEY"),
        ("persona_model", "openai/x", "OPENAI_API_KEY"),
        ("persona_model", "groq/x", "GROQ_API_KEY"),
        ("persona_model", "qwen/x", "OPENROUTER_API_KEY"),
        ("thinking_model", "groq/x", "GROQ_API_KEY"),
    ):
        with pytest.raises(ConfigError, match=f"{model} needs a key, and {variable}"):
            build_llm(load_settings(**{field: model}), FakeClock(), quiet)


async def test_a_built_llm_answers_for_both_roles(vendor: VendorServer) -> None:
    llm = build_llm(settings_for(vendor, thinking_model="placeholder/echo"), FakeClock(), quiet)
    spoken, completion = await answer(llm, prompt("hello"))
    assert (spoken, completion.model) == ("one two three", f"{vendor.name}/local-model")
    thought, completion = await answer(llm, prompt("hello", role=ModelRole.THINKING))
    assert "No model is set up" in thought
    assert completion.model == llm.model_for(ModelRole.THINKING) == "placeholder/echo"
    await llm.aclose()


SONNET = "anthropic/claude-sonnet-5-5"
MILLION = 1_000_000


def test_the_cache_long_prompts_and_models_on_this_machine_have_their_own_prices() -> None:
    completion = Completion(SONNET, MILLION, 500_000, 100_000, tokens_written=100_000)
    assert cost_of(completion).usd == pytest.approx(0.4 * 2 + 0.5 * 0.1 + 0.1 * 2.5 + 0.1 * 10)
    assert not cost_of(completion).bound
    odd = Completion(SONNET, 10, 500, 0, tokens_written=500)
    assert cost_of(odd).usd > 0, "figures that make no sense cost something all the same"
    costs = {100_000: 0.01, 100_001: 0.0500005}
    for tokens, cost in costs.items():
        assert cost_of(Completion("anthropic/claude-haiku-5-5", tokens_in=tokens)).usd == pytest.approx(cost)
    for model in ("placeholder/echo", "ollama/llama", "scripted/test"):
        assert cost_of(Completion(model, 1000, 0, 1000)) == Cost(0.0), model


def test_an_unknown_price_is_bounded_by_the_dearest_model_of_its_vendor() -> None:
    for model, least in {
        "anthropic/claude-next": 90,
        "openai/gpt-9": 90,
        "openai/gpt-9-pro": 90,
        "groq/x": 4.8,
        "openrouter/auto": 90,
        "maker/x-pro": 90,
    }.items():
        cost = cost_of(Completion(model, MILLION, 0, MILLION))
        assert cost.bound, model
        assert cost.usd >= least, model
        assert not price_is_known(parse_model_id(model)), model


def test_models_chosen_by_a_key_have_a_price_and_what_a_call_can_take_is_known_of_each_vendor() -> None:
    for key in ("anthropic_api_key", "openai_api_key", "openrouter_api_key", "groq_api_key"):
        for model in choose_models(load_settings(**{key: "k"})):
            assert price_is_known(parse_model_id(model)), model
    for vendor in Vendor:
        asked = prompt("hello", model=f"{vendor}/unheard-of", tokens=500)
        assert most_tokens_of(asked) >= 1_500, vendor
        assert most_of(asked).usd >= 0, vendor


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the network was asked")

    for call in ("connect", "connect_ex"):
        monkeypatch.setattr(f"socket.socket.{call}", refuse)
    monkeypatch.setattr("socket.getaddrinfo", refuse)
    load()
    assert cost_of(Completion(SONNET, MILLION)).usd == 2.0
    assert not data_snapshot.get_snapshot().from_auto_update
