"""The models without a provider."""

from msgspec.structs import replace

from daemon.core.config import Settings
from daemon.llm.router import Router
from tests.fakes import FakeClock
from tests.llm.prompts import answer, prompt
from tests.models import FakeModel, ScriptedLLM


async def test_the_models_without_a_provider_keep_the_output_limit_like_real_ones() -> None:
    asked, long = replace(prompt("word " * 60), max_output_tokens=16), "word " * 400
    for model in (ScriptedLLM(default=long), FakeModel(default=long), Router(Settings(), FakeClock(auto=True))):
        text, completion = await answer(model, asked)
        assert completion.stop == "length", model
        assert 0 < len(text) <= 16 * ScriptedLLM.characters_per_token
        _, completion = await answer(model, replace(asked, max_output_tokens=4096))
        assert completion.stop == "end", model
