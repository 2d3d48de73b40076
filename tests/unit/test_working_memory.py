"""Working memory: list operations, regions and their order, and that nothing ever changes in place."""

from dataclasses import FrozenInstanceError, replace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.working_memory import Memory, Role, WorkingMemory, estimate_tokens, thought
from tests.unit.operations import OPERATIONS, memories, working_memories


def said(content: str, region: str | None = None) -> Memory:
    return Memory(Role.USER, content, region)


def mind(*memories: Memory, order: tuple[str, ...] = ()) -> WorkingMemory:
    return WorkingMemory("Kothar", memories, order)


def shown(memory: WorkingMemory) -> str:
    return " ".join(one.content for one in memory)


def test_fields_metadata_and_lists_cannot_be_changed_later() -> None:
    source = {"k": "v"}
    memory = Memory(Role.USER, "hi", metadata=source)
    source["k"] = "changed"
    assert memory.metadata == {"k": "v"}
    with pytest.raises(TypeError):
        cast("dict[str, str]", memory.metadata)["k"] = "w"
    with pytest.raises(FrozenInstanceError):
        memory.content = "other"  # type: ignore[misc]  # the point of the test
    with pytest.raises(FrozenInstanceError):
        mind().memories = ()  # type: ignore[misc]  # the point of the test
    assert len({memory, replace(memory)}) == 1
    memories, order = [said("a")], ["r"]
    made = WorkingMemory("Kothar", cast("tuple[Memory, ...]", memories), cast("tuple[str, ...]", order))
    memories.clear()
    order.clear()
    assert (shown(made), made.regional_order) == ("a", ("r",))
    last = mind().with_memory(thought("hm")).at(-1)
    assert (last.role, last.content, last.region) == (Role.ASSISTANT, "hm", None)
    assert last.metadata == {"kind": "thought", "verb": "thought"}
    for text in ("", "[]", "{}", '{"soul_name": "k", "memories": [{"role": "god"}]}'):
        with pytest.raises(ValueError, match="not a working memory"):
            WorkingMemory.from_json(text)


@given(memory=working_memories)
def test_json_gives_back_the_same_value(memory: WorkingMemory) -> None:
    assert WorkingMemory.from_json(memory.to_json()) == memory


def test_list_operations_follow_lists_and_a_region_is_written_in_its_place() -> None:
    a, b, c = said("a"), said("b"), said("c")
    memory = mind(a, b, c)
    assert len(memory) == 3
    assert list(memory) == [a, b, c]
    assert memory.at(-1) is c
    with pytest.raises(IndexError):
        memory.at(3)
    assert memory.at(0) is a
    for bounds in ((0, 2), (1, None), (-2, -1), (None, None), (5, 9)):
        assert list(memory.slice(*bounds)) == [a, b, c][slice(*bounds)]
    assert shown(memory.filter(lambda one: one.content != "b")) == "a c"
    assert shown(memory.map(lambda one: replace(one, content=one.content * 2))) == "aa bb cc"
    assert shown(memory.concat(mind(said("d")))) == shown(memory.concat([said("d")])) == "a b c d"
    assert shown(memory.replace([said("x")])) == "x"
    memory = mind(said("a", "r"), said("b", "s"), said("c", "r"), said("d"))
    assert shown(memory.with_region("r", said("x"), said("y"))) == "x y b d"
    assert shown(memory.with_region("r")) == "b d"
    begun = mind(said("p", "personality"), said("hello")).with_region("person", said("ada"))
    assert shown(begun) == "p ada hello"
    assert begun.region("person")[0].region == "person"
    assert shown(mind().with_region("person", said("ada"))) == "ada"
    memory = mind(said("a", "r"), said("b", "s"), said("c"))
    assert shown(memory.with_memory(said("x", "r"))) == "a x b c"
    assert shown(memory.with_memory(said("x"))) == "a b c x"
    memory = mind(said("a", "r"), said("b"))
    assert memory.region("default") == (said("b"),)
    assert shown(memory.without_regions("default")) == "a"
    assert shown(memory.without_regions("r", "default")) == ""
    for name in ("default", ""):
        with pytest.raises(ValueError, match="region"):
            said("x", name)
        with pytest.raises(ValueError, match="region"):
            memory.with_region(name)
    memory = mind(said("a", "r"), said("b", "s"), said("c"), said("d", "t")).with_regional_order("s", "default", "r")
    assert shown(memory) == "a b c d"
    assert shown(memory.order_regions()) == "b c a d"
    written = memory.with_region("s", said("x"))
    assert shown(written) == "x c a d"
    assert shown(written.slice(0).with_region("u", said("y"))) == "x c a d y"
    assert shown(memory.order_regions("t")) == "d a b c"


@given(memory=working_memories, extra=memories)
def test_writing_a_region_keeps_every_other_memory_and_the_order(memory: WorkingMemory, extra: Memory) -> None:
    after = memory.with_region("b", extra)
    assert [m for m in after if m.region == "b"] == [replace(extra, region="b")]
    for region in ("a", "c", "d", "default"):
        assert after.region(region) == memory.region(region)
    rank = {name: place for place, name in enumerate(memory.regional_order)}
    ranks = [rank.get(m.region or "default", len(rank)) for m in after]
    assert ranks == sorted(ranks)


@given(memory=working_memories, extra=memories, order=st.permutations(["a", "b", "c", "d", "default"]))
def test_the_regional_order_outlives_any_chain_of_operations(
    memory: WorkingMemory, extra: Memory, order: list[str]
) -> None:
    ordered = memory.with_regional_order(*order)
    for name, operation in OPERATIONS.items():
        if name != "with_regional_order":
            ordered = operation(ordered, extra)
    written = WorkingMemory.from_json(ordered.to_json()).with_region("c", extra)
    ranks = [order.index(one.region or "default") for one in written]
    assert ranks == sorted(ranks)


def test_the_estimate_is_near_what_vendors_count() -> None:
    counted = {  # by OpenAI's own counts, with cl100k_base
        "Hello, how are you doing today?": 8,
        "The quick brown fox jumps over the lazy dog.": 10,
        "You miss 100% of the shots you don't take": 11,
        "tiktoken is great!": 6,
        "2 + 2 = 4": 7,
        "antidisestablishmentarianism": 6,
        "お誕生日おめでとう": 9,
    }
    assert sum(map(estimate_tokens, counted)) == pytest.approx(sum(counted.values()), rel=0.15)
    prose, code = "The import ran well again, and so it will.", "for (i = 0; i < 10; i++) { x[i] = 2 * i; }"
    assert len(code) / estimate_tokens(code) < 3 < len(prose) / estimate_tokens(prose)
