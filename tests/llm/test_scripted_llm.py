"""The scripted model: replies in order, failures where the script has them, a clear end."""

from dataclasses import replace

import pytest

from daemon.core.config import Settings
from daemon.core.errors import ModelRefused, ModelUnavailable
from daemon.core.ports.models import Completion, Prompt
from daemon.llm.router import Router
from tests.fakes import FakeClock
from tests.llm.prompts import answer, prompt
from tests.models import FakeModel, ScriptedLLM


async def test_a_script_is_followed_in_order_and_remembers_its_prompts() -> None:
    async def turned(asked: Prompt) -> str:
        return asked.messages[-1].text[::-1]

    usage = Completion("scripted/other", 5, 4, 3, "length")
    llm = ScriptedLLM("one", ["t", "wo", usage, "never"], turned)
    assert (await answer(llm, prompt("a")))[0] == "one"
    assert await answer(llm, prompt("b")) == ("two", usage)
    assert (await answer(llm, prompt("abc")))[0] == "cba"
    assert [each.messages[-1].text for each in llm.prompts] == ["a", "b", "abc"]


async def test_a_script_can_fail_at_once_or_in_the_middle() -> None:
    llm = ScriptedLLM(ModelUnavailable("down"), ["half", ModelUnavailable("cut")])
    with pytest.raises(ModelUnavailable, match="down"):
        await answer(llm, prompt())
    pieces = llm.stream(prompt())
    assert await anext(pieces) == "half"
    with pytest.raises(ModelUnavailable, match="cut"):
        await anext(pieces)
    assert llm.cut == 0


async def test_a_script_at_its_end_says_so_or_falls_back() -> None:
    llm = ScriptedLLM(model="scripted/x")
    with pytest.raises(ModelRefused, match="no reply left"):
        await answer(llm, prompt())
    llm.default = "again"
    assert await answer(llm, prompt()) == ("again", Completion("scripted/x", 1, 0, 1))


async def test_the_models_without_a_provider_keep_the_output_limit_like_real_ones() -> None:
    asked, long = replace(prompt("word " * 60), max_output_tokens=16), "word " * 400
    for model in (ScriptedLLM(default=long), FakeModel(default=long), Router(Settings(), FakeClock(auto=True))):
        text, completion = await answer(model, asked)
        assert completion.stop == "length", model
        assert 0 < len(text) <= 16 * ScriptedLLM.characters_per_token
        _, completion = await answer(model, replace(asked, max_output_tokens=4096))
        assert completion.stop == "end", model
