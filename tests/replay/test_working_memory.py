"""Open Souls' working memory, row by row."""

import inspect
from dataclasses import replace

import pytest

from daemon.core.working_memory import Memory, Role, WorkingMemory, thought
from tests.unit.operations import OPERATIONS


def said(content: str, region: str | None = None) -> Memory:
    return Memory(Role.USER, content, region)


A, B, C = said("a"), said("b"), said("c")
LIST = WorkingMemory("Kothar", (A, B, C))
REGIONS = WorkingMemory("Kothar", (said("p", "persona"), said("s", "summary"), said("hello")))


def shown(memory: WorkingMemory) -> str:
    return " ".join(one.content for one in memory)


def test_at_counts_from_the_end_when_negative() -> None:
    assert (LIST.at(0), LIST.at(-1)) == (A, C)


def test_slice_follows_lists() -> None:
    for bounds in ((0, 2), (1, None), (-2, -1), (None, None), (5, 9)):
        assert list(LIST.slice(*bounds)) == [A, B, C][slice(*bounds)]


def test_filter_keeps_what_fits() -> None:
    assert shown(LIST.filter(lambda one: one.content != "b")) == "a c"


def test_map_changes_each() -> None:
    assert shown(LIST.map(lambda one: replace(one, content=one.content * 2))) == "aa bb cc"


def test_concat_takes_a_memory_or_a_list() -> None:
    assert shown(LIST.concat([said("d")])) == "a b c d"
    assert shown(LIST.concat(LIST)) == "a b c a b c"


def test_replace_swaps_the_whole_list() -> None:
    assert shown(LIST.replace([said("x")])) == "x"


def test_with_memory_appends() -> None:
    assert shown(LIST.with_memory(said("d"))) == "a b c d"


def test_with_memory_appends_into_its_region() -> None:
    assert shown(REGIONS.with_memory(said("q", "persona"))) == "p q s hello"


def test_with_monologue_appends_a_thought_of_the_assistant() -> None:
    last = LIST.with_memory(thought("hm")).at(-1)
    assert (last.role, last.content, last.region) == (Role.ASSISTANT, "hm", None)


def test_with_region_replaces_what_the_region_held() -> None:
    assert shown(REGIONS.with_region("persona", said("x"), said("y"))) == "x y s hello"
    assert shown(REGIONS.with_region("summary")) == "p hello"


def test_a_new_region_goes_behind_regions_and_before_the_first_memory_without_one() -> None:
    assert shown(REGIONS.with_region("person", said("new"))) == "p s new hello"


def test_with_region_applies_the_persistent_order() -> None:
    ordered = REGIONS.with_regional_order("summary", "default", "persona")
    assert shown(ordered.with_region("summary", said("t"))) == "t hello p"


def test_with_regional_order_only_stores_the_order() -> None:
    ordered = REGIONS.with_regional_order("summary", "persona")
    assert shown(ordered) == shown(ordered.with_memory(said("!")).slice(0, 3)) == "p s hello"
    assert shown(ordered.order_regions()) == "s p hello"


def test_the_regional_order_takes_names_one_by_one() -> None:
    for operation in ("with_regional_order", "order_regions", "without_regions"):
        parameters = inspect.signature(getattr(WorkingMemory, operation)).parameters
        assert [one.kind for one in parameters.values()][1:] == [inspect.Parameter.VAR_POSITIONAL]


def test_the_regional_order_stays_with_every_clone() -> None:
    ordered = REGIONS.with_regional_order("summary", "persona")
    for name, operation in OPERATIONS.items():
        if name != "with_regional_order":
            assert operation(ordered, A).regional_order == ("summary", "persona")


def test_default_names_the_memories_without_a_region() -> None:
    assert shown(REGIONS.order_regions("default", "summary", "persona")) == "hello s p"


def test_unlisted_regions_end_up_last_in_their_own_order() -> None:
    memory = WorkingMemory("Kothar", (said("a", "x"), said("b", "y"), said("c"), said("d", "z")))
    assert shown(memory.order_regions("z")) == "d a b c"


def test_without_regions_drops_regions() -> None:
    assert shown(REGIONS.without_regions("persona", "default")) == "s"


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_every_operation_gives_a_new_instance(name: str) -> None:
    before = REGIONS.to_json()
    assert OPERATIONS[name](REGIONS, A) is not REGIONS
    assert REGIONS.to_json() == before


def test_a_snapshot_can_be_read_back() -> None:
    ordered = REGIONS.with_regional_order("summary").with_memory(thought("hm"))
    assert WorkingMemory.from_json(ordered.to_json()) == ordered
