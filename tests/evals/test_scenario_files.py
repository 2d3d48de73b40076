"""A broken scenario file is refused with its name, the place in it, and what is wrong there."""

from pathlib import Path

import pytest

from daemon.core.errors import ConfigError
from evals.scenario import SIZE_CAP, load_scenarios, read_scenario
from tests.evals.parts import HEAD, TURN, written

EXPECT = '\n[[turn]]\nsays = "Hi"\n[turn.right]\nreply = "Hi."\n[turn.expect]\n'


def refused(path: Path) -> str:
    with pytest.raises(ConfigError) as refusal:
        read_scenario(path)
    assert str(path) in refusal.value.message
    return refusal.value.message


FAULTS = (
    (HEAD + TURN + EXPECT + 'langauge = "de"\n', "turn 2, expect.langauge: is no field of a scenario"),
    (HEAD + TURN + EXPECT + 'language = "xx"\n', "turn 2, expect.language: "),
    (HEAD + TURN + EXPECT + 'through = ["poet"]\n', "turn 2, expect.through.0: there is no state 'poet'"),
    (HEAD + TURN + EXPECT + 'says = ["("]\n', "turn 2, expect.says.0: is no regular expression"),
    (HEAD + TURN + '\n[[turn]]\nsays = "Hi"\n', "turn 2: `right` is missing"),
    (HEAD + TURN + "\n[[turn]]\nwaits = 3600.0\n", "turn 2, waits: "),
    (HEAD + TURN + "\n[[turn]]\ndeletes = 2\n", "turns.1.deletes: turn 2 is no message before this one"),
    (HEAD + TURN + '\n[[turn]]\nwho = "ben"\n', "turn 2: a turn has `says`"),
    (HEAD + '\n[[turn]]\nsays = "Hi"\n[turn.right]\nreply = "Hi."\n', "no turn has `wrong`"),
    (HEAD + TURN + '\n[setup]\ndocuments = "nowhere"\n', "setup: documents: there is no folder"),
    (HEAD + TURN + '\n[setup.settings]\nOPENAI_API_KEY = "sk"\n', "setup.settings.OPENAI_API_KEY"),
    (
        HEAD + TURN + '\n[[setup.people]]\nname = "M"\nzone = "Mars/Olympus"\n',
        "setup.people.0.zone: there is no time",
    ),
    (HEAD, "turn: field required"),
    (TURN, "title: "),
    ("title = ", "is not valid TOML"),
    (f'title = "{"x" * SIZE_CAP}"', "is larger than 64 KiB"),
)


def test_a_fault_is_reported_with_its_place(tmp_path: Path) -> None:
    for text, named in FAULTS:
        assert named in refused(written(tmp_path, text)), text[-100:]
    path = tmp_path / "mine.toml"
    path.write_bytes(b"title = '\xff\xfe'")
    assert "is not text in UTF-8" in refused(path)


def test_all_faults_of_a_folder_are_reported_at_once_and_one_without_scenarios_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="holds no scenarios"):
        load_scenarios(tmp_path)
    written(tmp_path, HEAD, "one")
    written(tmp_path, TURN, "two")
    with pytest.raises(ConfigError) as refusal:
        load_scenarios(tmp_path)
    assert "one.toml" in refusal.value.message
    assert "two.toml" in refusal.value.message


def test_scenarios_are_chosen_by_name_or_tag(tmp_path: Path) -> None:
    written(tmp_path, HEAD + 'tags = ["sea"]\n' + TURN, "harbour")
    written(tmp_path, HEAD + TURN, "hill")
    harbour, hill = load_scenarios(tmp_path)
    assert (harbour.name, hill.name, hill.title, hill.messages) == ("harbour", "hill", "A title", 1)
    assert [one.name for one in load_scenarios(tmp_path, ["sea"])] == ["harbour"]
    assert [one.name for one in load_scenarios(tmp_path, ["h*l"])] == ["hill"]
    with pytest.raises(ConfigError, match="no scenario fits moon"):
        load_scenarios(tmp_path, ["moon"])
