"""What was thought and found while a user was in a private room is dropped once they left it."""

from daemon.core.perception import Audience, AudienceKind, Readers
from daemon.core.ports.library import Passage
from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.ism.problem import Problem
from daemon.memory.records import Speaks, Turn
from daemon.mind.recall.thoughts import MONOLOGUE, last_thoughts, thought_for

DM = Audience(AudienceKind.DM, "D1")


def _readers(*rooms: str) -> Readers:
    return Readers(DM, members_only=True, rooms=frozenset(rooms))


def test_a_thought_is_thought_again_only_while_its_reader_is_in_all_rooms_of_then() -> None:
    thought = {MONOLOGUE: "the plan is bold", **thought_for(_readers("G1", "G2"))}
    turn = Turn(Speaks.SOUL, "minoan", "Minoan", "1.0", "Well.", thought)
    assert last_thoughts([turn], _readers("G1", "G2", "G3")) == ("the plan is bold",)
    for now in ((), ("G1",)):
        assert last_thoughts([turn], _readers(*now)) == ()


def test_a_parked_problem_loses_what_came_from_a_room_that_was_left() -> None:
    def parked() -> Problem:
        problem = Problem(WorkingMemory("minoan", (Memory(Role.SYSTEM, "found much"),)))
        problem.keep_for(_readers("G1", "G2"))
        problem.add([Passage("private channel", "one", room="G1"), Passage("private channel", "two", room="G2")])
        problem.add([Passage("docs/a.md:1", "three")])
        return Problem.resumed(problem.to_json(), "minoan")

    problem = parked()
    problem.keep_for(_readers("G1", "G2"))
    assert len(problem.found) == 3
    assert problem.internal.memories
    problem.keep_for(_readers("G1"))
    assert [one.text for one in problem.found] == ["one", "three"]
    assert not problem.internal.memories
