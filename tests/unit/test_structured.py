"""Structured answers: one JSON object within any text, or an error that says what is wrong with it."""

import pytest
from pydantic import BaseModel

from daemon.core.errors import MalformedReply
from daemon.mind.structured_reply import structured


class Estimate(BaseModel):
    true: bool


def test_one_object_within_any_text_is_read_and_any_other_answer_is_malformed() -> None:
    for reply in (
        '{"true": true}',
        '```json\n{"true": true}\n```',
        'Let me see. {"true": true} That is all.',
        ' \n{"true":true}',
    ):
        schema, read = structured(Estimate)
        assert schema["required"] == ["true"], reply
        assert read(reply).true is True
    for reply in ("", "yes", "{}", "}{", '{"true": "perhaps"}', '{"true": true', '{"true": 1} {"a": 2}'):
        _, read = structured(Estimate)
        with pytest.raises(MalformedReply) as caught:
            read(reply)
        assert "JSON" in caught.value.hint, reply
        assert caught.value.reply == reply
