"""A whole thought is asked for by its schema, of every vendor, and read out of the answer that streams back."""

import json

from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.llm.router import Router
from daemon.mind.steps.think import think
from daemon.mind.thought import WIRE_SCHEMA
from daemon.soul import Budgets
from daemon.soul_engine import build_prompt
from tests.given import soul
from tests.llm.prompts import answer
from tests.llm.providers import Answer, VendorServer

LARGEST = 4_608
"""Bytes of a schema that vendors compile; about 7,000 were refused."""


async def test_the_schema_goes_out_whole_and_in_order_and_the_answer_is_read(
    vendor: VendorServer, model: Router
) -> None:
    step = think(soul())
    said = json.dumps({"calls_for": "nothing", "inner_speech": "Well.", "external_speech": "Good morning."})
    vendor.script.append(Answer((said[:20], said[20:50], said[50:])))
    memory = WorkingMemory("Kothar").with_memory(Memory(Role.USER, "hello", name="Ada"))
    text, _ = await answer(model, build_prompt(memory, step, budgets=Budgets(), nonce="n0nce"))
    assert step.read(text).reply == "Good morning."
    body = vendor.asked[0].body
    sent = body.get("output_config", {}).get("format") or body["response_format"]["json_schema"]
    assert list(sent["schema"]["properties"]) == list(WIRE_SCHEMA["properties"])
    assert list(sent["schema"]["properties"])[:3] == ["calls_for", "inner_speech", "external_speech"]
    assert len(json.dumps(sent["schema"], separators=(",", ":"))) <= LARGEST
