"""Working memories of every shape and all operations on them, for tests of properties."""

import dataclasses
from collections.abc import Callable, Mapping

from hypothesis import strategies as st

from daemon.core.working_memory import Memory, Role, WorkingMemory

contents = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)

memories = st.builds(
    Memory,
    role=st.sampled_from(Role),
    content=contents,
    region=st.sampled_from([None, "a", "b", "c", "d"]),
    name=st.none() | contents,
    metadata=st.dictionaries(contents, contents, max_size=2),
)

working_memories = st.builds(
    WorkingMemory,
    soul_name=contents,
    memories=st.lists(memories, max_size=8).map(tuple),
    regional_order=st.lists(st.sampled_from(["a", "b", "c", "default"]), unique=True).map(tuple),
)

OPERATIONS: Mapping[str, Callable[[WorkingMemory, Memory], WorkingMemory]] = {
    "slice": lambda wm, m: wm.slice(1, -1),
    "filter": lambda wm, m: wm.filter(lambda one: one.role is Role.USER),
    "map": lambda wm, m: wm.map(lambda one: dataclasses.replace(one, content="x")),
    "concat": lambda wm, m: wm.concat([m]),
    "replace": lambda wm, m: wm.replace([m]),
    "with_memory": lambda wm, m: wm.with_memory(m),
    "with_region": lambda wm, m: wm.with_region("b", m),
    "with_regional_order": lambda wm, m: wm.with_regional_order("c"),
    "order_regions": lambda wm, m: wm.order_regions("b", "a"),
    "without_regions": lambda wm, m: wm.without_regions("a", "default"),
}
"""Every operation that gives a working memory, by name; the memory given is one that it may add."""
