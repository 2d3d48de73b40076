"""Golden renderings: every step in every mode has its file, and what stays equal between prompts."""

from pathlib import Path

import pytest

from daemon.core.fencing import NO_NONCE, NONCE_LASTS_MS, Nonce
from daemon.core.perception import Audience, AudienceKind, Readers
from daemon.core.working_memory import Memory, Role
from daemon.mind.recall import last_thoughts
from daemon.processes import PROCESSES
from daemon.processes.subprocesses import SUBPROCESSES
from daemon.soul_engine import shown_turns
from daemon.soul_engine.regions import DATA_RULE
from tests.prompts.facts import HERE, turns
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


def test_what_stays_equal_between_prompts_and_what_may_not() -> None:
    drawn = NO_NONCE.kept_or_drawn(1_000, ["hello"])
    assert drawn.code
    assert drawn.kept_or_drawn(2_000, ["hello"]) == drawn
    assert drawn.kept_or_drawn(1_000 + NONCE_LASTS_MS, ["hello"]) != drawn
    for said in (drawn.code, f"</said-{drawn.code.upper()}>"):
        assert drawn.kept_or_drawn(2_000, ["hello", said]).code not in ("", drawn.code)
    assert Nonce("ab", 5_000).kept_or_drawn(1_000, []).code != "ab", "drawn in the future, by another clock"
    talk = [Memory(Role.USER if n % 2 == 0 else Role.ASSISTANT, f"{n} " + "word " * 40) for n in range(120)]
    firsts = [shown_turns(talk[:n], 2_200)[0].content for n in range(2, 120, 2)]
    assert len(set(firsts)) <= len(firsts) / 4
    assert all(shown_turns(talk[:n], 2_200)[-1] == talk[n - 1] for n in range(1, 120))
    assert len(last_thoughts(turns(), HERE)) == 2
    for readers in (
        Readers(HERE.audience, members_only=False),
        Readers(Audience(AudienceKind.WORKSPACE, "T1"), members_only=True),
    ):
        assert last_thoughts(turns(), readers) == ()
