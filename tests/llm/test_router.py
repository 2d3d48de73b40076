"""The choice of models and their vendors."""

import pytest

from daemon.core.config import load_settings
from daemon.core.errors import ConfigError
from daemon.core.ports.models import ModelRole
from daemon.llm.endpoint import Endpoint, endpoint_for
from daemon.llm.model_id import Vendor, parse_model_id
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
