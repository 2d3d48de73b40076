"""Open Souls' working memory, row by row."""

import inspect
from dataclasses import replace

from daemon.core.working_memory import Memory, Role, WorkingMemory


def said(content: str, region: str | None = None) -> Memory:
    return Memory(Role.USER, content, region)


A, B, C = said("a"), said("b"), said("c")
LIST = WorkingMemory("Kothar", (A, B, C))
REGIONS = WorkingMemory("Kothar", (said("p", "persona"), said("s", "summary"), said("hello")))


def shown(memory: WorkingMemory) -> str:
    return " ".join(one.content for one in memory)


async def test_async_map_waits_for_each_and_keeps_the_order() -> None:
    seen: list[str] = []

    async def change(memory: Memory) -> Memory:
        seen.append(memory.content)
        return replace(memory, content=memory.content.upper())

    assert shown(await LIST.amap(change)) == "A B C"
    assert seen == ["a", "b", "c"]


def test_the_regional_order_takes_names_one_by_one() -> None:
    for operation in ("with_regional_order", "order_regions", "without_regions", "only_regions"):
        parameters = inspect.signature(getattr(WorkingMemory, operation)).parameters
        assert [one.kind for one in parameters.values()][1:] == [inspect.Parameter.VAR_POSITIONAL]
