"""Strict schemas: valid by the draft, and what fits the given schema fits the strict one."""

from collections.abc import Mapping

import jsonschema
from hypothesis import given
from hypothesis import strategies as st

from daemon.llm.answers import can_be_strict, strict

Pair = tuple[dict[str, object], object]
"""A schema and an instance of it."""

_SMALL = st.integers(0, 9)
_SCALARS: st.SearchStrategy[Pair] = st.one_of(
    st.builds(lambda low: ({"type": "string", "minLength": low, "maxLength": low + 1}, "x" * low), _SMALL),
    st.builds(lambda low: ({"type": "integer", "minimum": low, "exclusiveMaximum": low + 2}, low), _SMALL),
    st.builds(lambda low: ({"type": "number", "exclusiveMinimum": low}, low + 0.5), _SMALL),
    st.sampled_from(
        [
            ({"type": "boolean"}, False),
            ({"type": "null"}, None),
            ({"enum": ["x", 2, None]}, "x"),
            ({"const": {"a": 1}}, {"a": 1}),
            ({"type": ["string", "null"]}, None),
            ({"type": "string", "format": "uuid"}, "00000000-0000-4000-8000-000000000000"),
            ({}, 5),
        ]
    ),
)


def _closed_object(named: Mapping[str, Pair]) -> Pair:
    schemas = {name: schema for name, (schema, _) in named.items()}
    closed = {"type": "object", "properties": schemas, "required": list(schemas), "additionalProperties": False}
    return closed, {name: instance for name, (_, instance) in named.items()}


def _nested(inner: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    pairs = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        st.builds(_closed_object, st.dictionaries(st.sampled_from("abcd"), inner, max_size=4)),
        st.builds(lambda one, n: ({"type": "array", "items": one[0], "minItems": n}, [one[1]] * n), inner, _SMALL),
        st.builds(lambda ones: ({"type": "array", "prefixItems": [s for s, _ in ones]}, [i for _, i in ones]), pairs),
        st.builds(lambda ones: ({"anyOf": [schema for schema, _ in ones]}, ones[0][1]), pairs),
        st.builds(lambda ones: ({"oneOf": [schema for schema, _ in ones]}, ones[-1][1]), pairs),
        st.builds(lambda one: ({"allOf": [one[0]]}, one[1]), inner),
        st.builds(lambda one: ({"$defs": {"One/x": one[0]}, "type": "array", "items": one[0]}, [one[1]]), inner),
        st.builds(lambda one: ({"type": "object", "additionalProperties": one[0]}, {"k": one[1]}), inner),
    )


@given(st.recursive(_SCALARS, _nested, max_leaves=12))
def test_what_fits_a_schema_fits_its_strict_form(pair: Pair) -> None:
    schema, instance = pair
    if can_be_strict(schema):
        stricter = strict(schema)
        jsonschema.Draft202012Validator.check_schema(stricter)
        jsonschema.Draft202012Validator(stricter).validate(instance)
