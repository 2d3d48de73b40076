"""What calls cost, by the price list that comes with the package."""

import subprocess
import sys

import pytest

from daemon.core.config import load_settings
from daemon.core.ports.models import Completion, Cost
from daemon.llm.model_id import Vendor, parse_model_id
from daemon.llm.prices import cost_of, most_of, most_tokens_of, price_is_known
from daemon.llm.router import choose_models
from tests.llm.prompts import prompt

SONNET = "anthropic/claude-sonnet-5-5"
MILLION = 1_000_000


def test_reads_and_writes_of_the_cache_have_their_own_prices() -> None:
    completion = Completion(SONNET, MILLION, 500_000, 100_000, tokens_written=100_000)
    assert cost_of(completion).usd == pytest.approx(0.4 * 2 + 0.5 * 0.1 + 0.1 * 2.5 + 0.1 * 10)
    assert not cost_of(completion).bound


@pytest.mark.parametrize(("tokens", "cost"), [(100_000, 0.01), (100_001, 0.0500005)])
def test_a_long_prompt_costs_more_as_a_whole(tokens: int, cost: float) -> None:
    assert cost_of(Completion("anthropic/claude-haiku-5-5", tokens_in=tokens)).usd == pytest.approx(cost)


@pytest.mark.parametrize("model", ["placeholder/echo", "ollama/llama", "scripted/test"])
def test_models_on_this_machine_cost_nothing(model: str) -> None:
    assert cost_of(Completion(model, 1000, 0, 1000)) == Cost(0.0)


@pytest.mark.parametrize(
    "model", ["anthropic/claude-next", "openai/gpt-9", "openai/gpt-9-pro", "groq/x", "openrouter/auto", "maker/x-pro"]
)
def test_an_unknown_price_is_bounded_by_the_dearest_model_of_its_vendor(model: str) -> None:
    cost = cost_of(Completion(model, MILLION, 0, MILLION))
    assert cost.bound
    assert cost.usd >= (4.8 if model.startswith("groq/") else 90)
    assert not price_is_known(parse_model_id(model))


def test_figures_that_make_no_sense_cost_something_all_the_same() -> None:
    assert cost_of(Completion(SONNET, 10, 500, 0, tokens_written=500)).usd > 0


@pytest.mark.parametrize("key", ["anthropic_api_key", "openai_api_key", "openrouter_api_key", "groq_api_key"])
def test_the_models_that_are_chosen_by_a_key_have_a_price(key: str) -> None:
    for model in choose_models(load_settings(**{key: "k"})):
        assert price_is_known(parse_model_id(model)), model


def test_nothing_is_fetched() -> None:
    script = """
import socket
def refuse(*_, **__): raise AssertionError("the network was asked")
socket.socket.connect = socket.getaddrinfo = socket.create_connection = refuse
from daemon.core.ports.models import Completion
from daemon.llm.prices import cost_of, load
load()
print(cost_of(Completion("anthropic/claude-sonnet-5-5", 1_000_000)).usd)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "2.0"


@pytest.mark.parametrize("vendor", list(Vendor))
def test_what_a_call_can_take_is_known_for_a_model_of_each_vendor(vendor: Vendor) -> None:
    asked = prompt("hello", model=f"{vendor}/unheard-of", tokens=500)
    assert most_tokens_of(asked) >= 1_500
    assert most_of(asked).usd >= 0
