"""Structured answers: one JSON object within any text, or an error that says what is wrong with it."""

import pytest
from pydantic import BaseModel

from daemon.core.errors import MalformedReply
from daemon.mind.structured_reply import structured


class Estimate(BaseModel):
    true: bool


def test_an_object_is_read_from_within_any_text() -> None:
    for reply in (
        '{"true": true}',
        '```json\n{"true": true}\n```',
        'Let me see. {"true": true} That is all.',
        ' \n{"true":true}',
    ):
        schema, read = structured(Estimate)
        assert schema["required"] == ["true"], reply
        assert read(reply).true is True


def test_an_object_that_violates_the_schema_is_malformed_and_its_hint_says_what_to_do() -> None:
    for reply in ("", "yes", "{}", "}{", '{"true": "perhaps"}', '{"true": true', '{"true": 1} {"a": 2}'):
        _, read = structured(Estimate)
        with pytest.raises(MalformedReply) as caught:
            read(reply)
        assert "JSON" in caught.value.hint, reply
        assert caught.value.reply == reply
