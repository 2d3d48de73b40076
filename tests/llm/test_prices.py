"""What calls cost, by the price list that comes with the package."""

import pytest
from genai_prices import data_snapshot

from daemon.core.config import load_settings
from daemon.core.ports.models import Completion, Cost
from daemon.llm.model_id import Vendor, parse_model_id
from daemon.llm.prices import cost_of, load, most_of, most_tokens_of, price_is_known
from daemon.llm.router import choose_models
from tests.llm.prompts import prompt

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
