"""`soul mind`: the forms of a thought are printed, and a file is checked by them."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from daemon.cli.commands import soul
from tests.cli.conftest import call

SAMPLES = Path(__file__).parents[1] / "unit"


@pytest.mark.parametrize("form", ["input", "output", "wire"])
def test_each_form_is_printed_as_a_json_schema(form: str) -> None:
    result = call("mind", "schema", form)
    assert result.exit_code == 0
    Draft202012Validator.check_schema(json.loads(result.output))


@pytest.mark.parametrize("form", ["input", "output"])
def test_the_samples_of_the_design_are_valid(form: str) -> None:
    result = call("mind", "check", form, str(SAMPLES / f"cognitive_{form}.json"), "--json")
    assert (result.exit_code, json.loads(result.output)) == (0, {"valid": True, "refused": []})


def test_what_is_left_out_of_a_thought_is_named_with_its_reason(tmp_path: Path) -> None:
    file = tmp_path / "thought.json"
    file.write_text('{"inner_speech": "a", "external_speech": null, "confidence": 3, "odd": 1}')
    result = call("mind", "check", "output", str(file), "--json")
    assert result.exit_code == 1
    assert json.loads(result.output) == {
        "valid": False,
        "refused": [{"field": "confidence", "reason": "out_of_range"}, {"field": "", "reason": "unknown"}],
    }
    assert "a part with no known name: unknown" in call("mind", "check", "output", str(file)).output


def test_what_a_thought_is_given_is_checked_too() -> None:
    given = '{"new_percepts": [{"modality": "language"}], "felt": 1}'
    result = CliRunner().invoke(soul, ["mind", "check", "input", "-", "--json"], input=given)
    assert result.exit_code == 1
    assert json.loads(result.output)["refused"] == [
        {"field": "new_percepts", "reason": "empty"},
        {"field": "", "reason": "unknown"},
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (b"Hello.", "it is no JSON object"),
        (b"\xff\xfe", "can't be read"),
        (b'{"inner_speech": 1}', "is not words"),
        (b" " * ((1 << 20) + 1), "is larger than a thought can be"),
    ],
)
def test_a_file_that_holds_no_thought_is_refused_in_one_sentence(tmp_path: Path, words: bytes, said: str) -> None:
    file = tmp_path / "thought.json"
    file.write_bytes(words)
    result = call("mind", "check", "output", str(file))
    assert result.exit_code == 1
    assert said in result.output
    assert "Traceback" not in result.output


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    result = call("mind", "check", "input", str(tmp_path / "none.json"))
    assert result.exit_code == 1
    assert "none.json" in result.output
