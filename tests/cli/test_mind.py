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
    plain = call("mind", "check", "output", str(file))
    assert plain.stdout == "valid: no\nconfidence: out_of_range\na part with no known name: unknown\n"


def test_what_a_thought_is_given_is_checked_too() -> None:
    given = '{"new_percepts": [{"modality": "language"}], "felt": 1}'
    result = CliRunner().invoke(soul, ["mind", "check", "input", "-", "--json"], input=given)
    assert result.exit_code == 1
    assert json.loads(result.output)["refused"] == [
        {"field": "new_percepts", "reason": "empty"},
        {"field": "", "reason": "unknown"},
    ]


@pytest.mark.parametrize(
    ("form", "words", "said", "refused"),
    [
        ("output", b"Hello.", "it is no JSON object", ("", "unknown")),
        ("output", b"[1]", "it is no JSON object", ("", "unknown")),
        ("output", b" \n", "it is no JSON object", ("", "empty")),
        ("output", b"\xff\xfe", "is no text in UTF-8", ("", "unknown")),
        ("output", b'{"external_speech": "Hi"}', "is not words", ("inner_speech", "empty")),
        ("output", b'{"inner_speech": null}', "is not words", ("inner_speech", "empty")),
        ("output", b'{"inner_speech": 1}', "is not words", ("inner_speech", "unknown")),
        ("output", b'{"inner_speech": "a", "external_speech": 1}', "is not words", ("external_speech", "unknown")),
        ("output", b" " * ((1 << 20) + 1), "is larger than a thought can be", ("", "too_long")),
        ("input", b"Hello.", "it is no JSON", ("", "unknown")),
        ("input", b"", "it is no JSON", ("", "empty")),
        ("input", b"\xff\xfe", "is no text in UTF-8", ("", "unknown")),
        ("input", b" " * ((1 << 20) + 1), "is larger than a thought can be", ("", "too_long")),
    ],
)
def test_a_file_that_holds_no_thought_is_not_valid_and_one_sentence_says_why(
    tmp_path: Path, form: str, words: bytes, said: str, refused: tuple[str, str]
) -> None:
    file, (field, reason) = tmp_path / "thought.json", refused
    file.write_bytes(words)
    result = call("mind", "check", form, str(file), "--json")
    assert json.loads(result.stdout) == {"valid": False, "refused": [{"field": field, "reason": reason}]}
    (sentence,) = result.stderr.splitlines()
    assert (result.exit_code, said in sentence) == (1, True), sentence
    plain = call("mind", "check", form, str(file))
    assert (plain.exit_code, plain.stderr) == (1, result.stderr)
    assert plain.stdout == f"valid: no\n{field or 'the whole'}: {reason}\n"


def test_a_list_is_nothing_that_a_thought_is_given(tmp_path: Path) -> None:
    file = tmp_path / "given.json"
    file.write_text("[1]")
    result = call("mind", "check", "input", str(file), "--json")
    assert (result.exit_code, json.loads(result.stdout)["valid"]) == (1, False)


@pytest.mark.parametrize("form", ["input", "output"])
def test_without_json_the_first_line_says_whether_it_is_valid(form: str) -> None:
    result = call("mind", "check", form, str(SAMPLES / f"cognitive_{form}.json"))
    assert (result.exit_code, result.stdout) == (0, "valid: yes\n")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    result = call("mind", "check", "input", str(tmp_path / "none.json"))
    assert result.exit_code == 1
    assert "none.json" in result.output
