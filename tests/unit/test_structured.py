"""Structured answers: one JSON object, whatever stands around it, or word of what is wrong with it."""

import pytest
from pydantic import BaseModel

from daemon.core.errors import MalformedReply
from daemon.mind.structured_reply import structured


class Verdict(BaseModel):
    """A form to be filled in."""

    true: bool


@pytest.mark.parametrize(
    "reply",
    ['{"true": true}', '```json\n{"true": true}\n```', 'Let me see. {"true": true} That is all.', ' \n{"true":true}'],
)
def test_a_form_is_read_whatever_stands_around_it(reply: str) -> None:
    schema, read = structured(Verdict)
    assert schema["required"] == ["true"]
    assert read(reply).true is True


@pytest.mark.parametrize(
    "reply", ["", "yes", "{}", "}{", '{"true": "perhaps"}', '{"true": true', '{"true": 1} {"a": 2}']
)
def test_a_form_filled_in_wrongly_is_malformed_and_says_how_to_do_it(reply: str) -> None:
    _, read = structured(Verdict)
    with pytest.raises(MalformedReply) as caught:
        read(reply)
    assert "JSON" in caught.value.hint
    assert caught.value.reply == reply
