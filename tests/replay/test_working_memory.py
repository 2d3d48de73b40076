"""Open Souls' working memory, as far as the unit tests don't show it."""

import inspect

from daemon.core.working_memory import Memory, Role, WorkingMemory, thought


def test_with_monologue_appends_a_thought_of_the_assistant() -> None:
    last = WorkingMemory("Kothar", (Memory(Role.USER, "hello"),)).with_memory(thought("hm")).at(-1)
    assert (last.role, last.content, last.region) == (Role.ASSISTANT, "hm", None)


def test_the_regional_order_takes_names_one_by_one() -> None:
    for operation in ("with_regional_order", "order_regions", "without_regions"):
        parameters = inspect.signature(getattr(WorkingMemory, operation)).parameters
        assert [one.kind for one in parameters.values()][1:] == [inspect.Parameter.VAR_POSITIONAL]
