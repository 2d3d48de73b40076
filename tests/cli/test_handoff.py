"""`soul handoff`: an admin gives a thread to another soul."""

from pathlib import Path

import pytest

from tests.cli.conftest import as_json, call
from tests.cli.stocked import CONVERSATION, host, one, stock


@pytest.fixture(autouse=True)
def memory(home: Path) -> Path:
    """A living daemon, this process, hosts Ben."""
    path = stock(home / "memory.db")
    host(path, "ben")
    return path


def test_a_thread_is_given_to_another_soul_on_record_and_what_can_not_be_is_said(memory: Path) -> None:
    for arguments, said in (
        (("minoan/T1", "cleo"), "hosted now: ben"),
        (("minoan/T1", "../x"), "no living daemon hosts a soul '../x'"),
        (("nowhere", "ben"), "there is no conversation nowhere"),
    ):
        result = call("handoff", *arguments)
        assert (result.exit_code != 0, said in result.output) == (True, True), (arguments, result.output)
    assert one(memory, "SELECT count(*) FROM conversations WHERE handed_to <> ''") == 0
    done = as_json("handoff", "minoan/T1", "ben")
    assert done.keys() == {"conversation", "soul", "handed_to", "at_ms"}
    assert (done["conversation"], done["soul"], done["handed_to"]) == (CONVERSATION, "minoan", "ben")
    assert one(memory, "SELECT handed_to FROM conversations WHERE soul = 'minoan'") == "ben"
    assert one(memory, "SELECT count(*) FROM outbox WHERE note = 1 AND recipient = 'U1'") == 2
    assert one(memory, "SELECT act FROM audit") == "conversation.handed"


def test_in_words_it_says_who_answers_now_and_a_second_one_is_refused_with_whose_the_thread_is() -> None:
    assert "ben answers in T1/D1/ from now on." in call("handoff", CONVERSATION, "ben").output
    result = call("handoff", CONVERSATION, "ben")
    assert result.exit_code != 0
    assert "was handed to ben before" in result.output
    assert "hand over ben/T1/D1/" in result.output
