"""Structured answers: one JSON object within any text, or an error that says what is wrong with it."""

import pytest
from pydantic import BaseModel

from daemon.core.errors import MalformedReply
from daemon.mind.structured_reply import structured


class Estimate(BaseModel):
    """The schema of the answer."""

    true: bool


@pytest.mark.parametrize(
    "reply",
    ['{"true": true}', '```json\n{"true": true}\n```', 'Let me see. {"true": true} That is all.', ' \n{"true":true}'],
)
def test_an_object_is_read_from_within_any_text(reply: str) -> None:
    schema, read = structured(Estimate)
    assert schema["required"] == ["true"]
    assert read(reply).true is True


@pytest.mark.parametrize(
    "reply", ["", "yes", "{}", "}{", '{"true": "perhaps"}', '{"true": true', '{"true": 1} {"a": 2}']
)
def test_an_object_that_violates_the_schema_is_malformed_and_its_hint_says_what_to_do(reply: str) -> None:
    _, read = structured(Estimate)
    with pytest.raises(MalformedReply) as caught:
        read(reply)
    assert "JSON" in caught.value.hint
    assert caught.value.reply == reply
