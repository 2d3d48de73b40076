"""The schemas that bind shared contexts: nothing is fetched, no writer waits long, else the library decides."""

import json
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from daemon.core.clock import SystemClock
from daemon.core.contexts import ADMIN, ContextRefused, JSONObject
from daemon.memory.database import open_database
from daemon.memory.shared.forms import require_fit, require_schema
from daemon.memory.shared.store import ContextStore

AT_ONCE_S = 3.0  # of processor time; the library alone takes minutes for most of these, or never ends


def _doubling(times: int) -> JSONObject:
    """A schema that refers to itself twice at each of so many levels."""
    levels = {f"a{one}": {"allOf": [{"$ref": f"#/$defs/a{one + 1}"}] * 2} for one in range(times)}
    return {"$defs": {**levels, f"a{times}": {"minProperties": 0}}, "$ref": "#/$defs/a0"}


def test_a_schema_that_could_not_be_used_is_refused_with_what_to_do() -> None:
    forms: tuple[tuple[JSONObject, str], ...] = (
        ({"type": 7}, "no JSON Schema"),
        ({"properties": []}, "no JSON Schema"),
        ({"$ref": "http://127.0.0.1:9/schema.json"}, "'http://127.0.0.1:9/schema.json', which is not in it"),
        ({"$ref": "file:///etc/passwd"}, "which is not in it"),
        ({"properties": {"a": {"items": {"$ref": "other.json"}}}}, "'other.json', which is not in it"),
        ({"$ref": "#/$defs/none"}, "'#/$defs/none', which is not in it"),
        ({"$dynamicRef": "#none"}, "'#none', which is not in it"),
        ({"pattern": "("}, "no JSON Schema"),
        ({"properties": {"a": {"pattern": "(?=a)b"}}}, "the pattern '(?=a)b' can't be used"),
        ({"patternProperties": {"(a)\\1": True}}, "can't be used"),
        ({"pattern": "x{9999999}"}, "can't be used"),
        ({"patternProperties": {"a": True}, "unevaluatedProperties": False}, "can't be used together"),
        ({"a": "x" * 20_000}, "16384 are the most"),
        (json.loads('{"not":' * 40 + "true" + "}" * 40), "nested more than 32 deep"),
    )
    for form, says in forms:
        with pytest.raises(ContextRefused) as refused:
            require_schema(form)
        assert says in refused.value.message
        assert refused.value.hint


def test_no_data_holds_up_the_look_at_it() -> None:
    hard: tuple[tuple[JSONObject, JSONObject, str], ...] = (
        ({"properties": {"a": {"pattern": "^(a+)+$"}}}, {"a": "a" * 16_000 + "!"}, "a: "),
        ({"properties": {"a": {"pattern": r"^(\w+\s?)*$"}}}, {"a": "word " * 3_000 + "!"}, "a: "),
        ({"patternProperties": {"^(x+x+)+y$": False}}, {"x" * 16_000: 1}, ""),
        ({"patternProperties": {"^(x+x+)+y$": {}}, "additionalProperties": False}, {"x" * 9_000: 1}, "not allowed"),
        (_doubling(40), {"a": 1}, "takes too long"),
        ({"$ref": "#"}, {"a": 1}, "can't be held against"),
        ({"allOf": [{"$ref": "#"}, {"$ref": "#"}]}, {"a": 1}, "can't be held against"),
        ({"properties": {"a": {"items": {"enum": list(range(2_500))}}}}, {"a": ["x"] * 3_000}, "a/0: "),
        ({"properties": {"a": {"items": {"enum": [*range(2_500)]}}}}, {"a": [2_499] * 3_000}, "takes too long"),
        ({"properties": {"a": {"items": {"allOf": [True] * 2_500}}}}, {"a": [1] * 5_000}, "takes too long"),
        ({"properties": {"a": {"uniqueItems": True}}}, {"a": [*range(1_500), *map(str, range(1_500)), 7]}, "a: "),
        ({"properties": {"a": {"uniqueItems": True}}}, {"a": [*range(1_500), *map(str, range(1_500))]}, ""),
        ({"properties": {"a": {"multipleOf": 0.1}}}, {"a": 10**400}, "can't be held against"),
    )
    for form, data, says in hard:
        require_schema(form)
        began = time.thread_time()
        with pytest.raises(ContextRefused) if says else nullcontext() as refused:
            require_fit("game", form, data)
        assert time.thread_time() - began < AT_ONCE_S, str(form)[:200]
        if refused is not None:
            assert says in refused.value.message
            assert refused.value.hint


def test_all_the_data_that_a_context_may_hold_is_held_against_its_schema_and_one_without_end_is_met_early() -> None:
    rules = {"type": "integer", "minimum": 0, "maximum": 9}
    require_fit("game", {"properties": {"a": {"items": rules}}}, {"a": [7] * 8_000})
    people = {f"p{number}": {"name": "Ada", "at": number} for number in range(500)}
    person = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"pattern": "^[A-Z]"}, "at": {"type": "integer"}},
    }
    require_fit("game", {"additionalProperties": person}, people)
    tree = {"$ref": "#/$defs/node", "$defs": {"node": {"properties": {"in": {"$ref": "#/$defs/node"}}, "required": []}}}
    data: JSONObject = {"leaf": 1}
    for _ in range(30):
        data = {"in": data}
    require_fit("game", tree, data)

    def deeper(frames: int) -> None:
        if frames:
            deeper(frames - 1)
        else:
            with pytest.raises(ContextRefused):
                require_fit("game", {"$ref": "#"}, {"a": 1})

    deeper(250)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, 1.0, 1.5, "", "a", "ab", "b1"]),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "ab"]), one, max_size=3),
    max_leaves=6,
)
_NAMED = st.sampled_from(["a", "b", "ab"])
_LEAVES: st.SearchStrategy[Any] = st.one_of(
    st.booleans(),
    st.fixed_dictionaries({"type": st.sampled_from(["object", "array", "string", "integer", "null"])}),
    st.fixed_dictionaries({"pattern": st.sampled_from(["^a", "b$", "[0-9]", "a.*b"])}),
    st.fixed_dictionaries({"uniqueItems": st.booleans()}),
    st.fixed_dictionaries({"required": st.lists(_NAMED, unique=True, max_size=2)}),
    st.fixed_dictionaries({"enum": st.lists(_VALUES, min_size=1, max_size=3)}),
    st.fixed_dictionaries({"multipleOf": st.sampled_from([1, 0.5, 2])}),
)


def _joined(parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(parts, min_size=1, max_size=2)
    return st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(_NAMED, parts, max_size=2),
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "b$", "x"]), parts, max_size=2),
            "additionalProperties": parts,
            "items": parts,
            "allOf": some,
            "anyOf": some,
            "oneOf": some,
            "not": parts,
            "uniqueItems": st.booleans(),
        },
    )


@given(st.recursive(_LEAVES, _joined, max_leaves=6), st.dictionaries(_NAMED, _VALUES, max_size=3))
def test_what_fits_is_what_the_library_says_fits(part: object, data: dict[str, object]) -> None:
    form = {"$defs": {"part": part}, "$ref": "#/$defs/part"}
    try:
        require_fit("game", form, data)
    except ContextRefused:
        fits = False
    else:
        fits = True
    assert fits is Draft202012Validator(form).is_valid(data)


async def test_a_schema_that_can_not_be_used_refuses_the_write_and_can_be_defined_anew(tmp_path: Path) -> None:
    async with open_database(tmp_path / "memory.db", clock := SystemClock()) as database:
        store = ContextStore(database, clock, "T1")
        await store.write("game", {"a": "b"}, None, ADMIN)
        await store.define("game", form={"properties": {"a": {"pattern": "b"}}})
        await database.run("UPDATE shared_context SET form = replace(form, '\"b\"', '\"(?=b)\"')")
        with pytest.raises(ContextRefused, match=r"game: the pattern '\(\?=b\)' can't be used"):
            await store.write("game", {"a": "bb"}, None, ADMIN)
        await store.define("game", form={"properties": {"a": {"pattern": "b"}}})
        assert (await store.write("game", {"a": "bb"}, None, ADMIN)).version == 2
