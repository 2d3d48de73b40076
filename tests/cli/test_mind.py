"""`soul mind`: the forms of a thought are printed, and a file is checked by them."""

import json
from pathlib import Path

from click.testing import CliRunner
from jsonschema import Draft202012Validator

from daemon.cli.commands import soul
from tests.cli.conftest import call

SAMPLES = Path(__file__).parents[1] / "unit"


def test_each_form_is_printed_as_a_json_schema_and_the_samples_of_the_design_are_valid() -> None:
    for form in ("input", "output", "wire"):
        result = call("mind", "schema", form)
        assert result.exit_code == 0
        Draft202012Validator.check_schema(json.loads(result.output))
    for form in ("input", "output"):
        sample = str(SAMPLES / f"cognitive_{form}.json")
        result = call("mind", "check", form, sample, "--json")
        assert (result.exit_code, json.loads(result.output)) == (0, {"valid": True, "refused": []}), form
        plain = call("mind", "check", form, sample)
        assert (plain.exit_code, plain.stdout) == (0, "valid: yes\n"), form


def test_what_is_left_out_of_a_thought_or_of_what_it_is_given_is_named_with_its_reason(tmp_path: Path) -> None:
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
    given = '{"new_percepts": [{"modality": "language"}], "felt": 1}'
    result = CliRunner().invoke(soul, ["mind", "check", "input", "-", "--json"], input=given)
    assert result.exit_code == 1
    assert json.loads(result.output)["refused"] == [
        {"field": "new_percepts", "reason": "empty"},
        {"field": "", "reason": "unknown"},
    ]


def test_a_file_that_holds_no_thought_is_not_valid_and_one_sentence_says_why(tmp_path: Path) -> None:
    file = tmp_path / "thought.json"
    for form, words, said, (field, reason) in (
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
    ):
        file.write_bytes(words)
        result = call("mind", "check", form, str(file), "--json")
        assert json.loads(result.stdout) == {"valid": False, "refused": [{"field": field, "reason": reason}]}, words[
            :40
        ]
        (sentence,) = result.stderr.splitlines()
        assert (result.exit_code, said in sentence) == (1, True), sentence
        plain = call("mind", "check", form, str(file))
        assert (plain.exit_code, plain.stderr) == (1, result.stderr)
        assert plain.stdout == f"valid: no\n{field or 'the whole'}: {reason}\n"
    file.write_text("[1]")
    result = call("mind", "check", "input", str(file), "--json")
    assert (result.exit_code, json.loads(result.stdout)["valid"]) == (1, False)
    result = call("mind", "check", "input", str(tmp_path / "none.json"))
    assert (result.exit_code, "none.json" in result.output) == (1, True)
