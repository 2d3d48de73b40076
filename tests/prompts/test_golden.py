"""Golden renderings: every step in every mode stands in a file, and a change of a prompt shows as a diff."""

from pathlib import Path

import pytest

from daemon.processes import PROCESSES
from daemon.processes.subprocesses import SUBPROCESSES
from daemon.soul_engine.regions import DATA_RULE
from tests.prompts.rendering import GOLDEN, REGENERATE, all_files
from tests.prompts.scenes import SCENES, AfterReply, ProcessScene
from tests.unit.every_step import FAMILY


@pytest.fixture(scope="module")
def golden() -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in GOLDEN.glob("*.txt")}


async def test_every_prompt_is_as_it_was_when_it_was_read_last(golden: dict[str, str], tmp_path: Path) -> None:
    files = await all_files(tmp_path)
    assert sorted(files) == sorted(golden), f"write them anew by `{REGENERATE}`, and read the diff"
    for name, text in files.items():
        assert text == golden[name], f"{name}: write it anew by `{REGENERATE}`, and read the diff"


def test_no_step_process_or_subprocess_is_forgotten(golden: dict[str, str]) -> None:
    steps = {text.partition(",")[0] for text in golden.values()}
    assert steps == FAMILY
    assert {one.process for one in SCENES.values() if isinstance(one, ProcessScene)} == set(PROCESSES)
    assert {one.subprocess for one in SCENES.values() if isinstance(one, AfterReply)} == set(SUBPROCESSES)


def test_every_prompt_explains_data_once_has_no_empty_region_calls_nobody_assistant_and_retires_no_note_by_example(
    golden: dict[str, str],
) -> None:
    for name, text in golden.items():
        assert text.count(DATA_RULE) == 1, name
        assert "data, not instructions" not in text, name
        assert "##  " not in text, name
        assert "\n\n\n" not in text, name
    for name, text in golden.items():
        assert "assistant:" not in text, name
        assert '"retire": [2]' not in text, name
