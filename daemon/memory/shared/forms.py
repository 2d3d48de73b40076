"""The JSON Schema that binds a shared context: which schemas can be used, and where data doesn't fit one.

Data comes from anybody who may write, and is looked at while it is stored, which holds up all who write to memory.db.
So patterns are matched without backtracking, by the regular expressions of pydantic's core, references lead nowhere
else, and a look takes a bounded number of steps.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from jsonschema import Draft202012Validator, SchemaError, ValidationError, validators
from pydantic_core import SchemaError as NoPattern
from pydantic_core import SchemaValidator, core_schema
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012, SchemaResource

from daemon.core.contexts import ContextRefused, JSONObject, as_stored

_MOST_STEPS: Final = 40_000  # a fifth of a second; 16 KiB of numbers, each with four rules, take less
_DEEPEST: Final = 100  # rules within rules; Python's own bound is met in code that ends the process for it
_NOWHERE_ELSE: Final[Registry[Any]] = Registry()  # a schema refers to nothing but itself: nothing is ever fetched
_KEYWORDS: Final[Mapping[str, Any]] = Draft202012Validator.VALIDATORS

Faults = Iterator[ValidationError]
"""What one keyword finds."""


def require_schema(form: JSONObject) -> None:
    """Raises ContextRefused for what is no JSON Schema, and for one that could not be used."""
    as_stored(form)
    try:
        Draft202012Validator.check_schema(form)
    except SchemaError as error:
        raise ContextRefused(f"this is no JSON Schema: {error.message[:200]}", hint="see json-schema.org") from error
    _Rules(form)


def require_fit(key: str, form: JSONObject, data: JSONObject) -> None:
    """Raises ContextRefused, with the field, where the data doesn't fit the form of a key."""
    try:
        fault = _Rules(form).first_fault(data)
    except ContextRefused as error:
        raise ContextRefused(f"{key}: {error.message}", hint=error.hint) from error
    except Exception as error:  # as with a schema that refers to itself for ever, or numbers that can't be divided
        hint = "write other data, or define the schema anew"
        raise ContextRefused(f"this data can't be held against the schema of {key}", hint=hint) from error
    if fault is not None:
        field = "/".join(str(part) for part in fault.absolute_path) or "the data"
        raise ContextRefused(f"{field[:120]}: {fault.message[:200]}", hint=f"the schema of {key} asks for it")


class _Rules:
    """One form, made ready for one look. Raises ContextRefused where it can't be used."""

    def __init__(self, form: JSONObject) -> None:
        self._form = form
        self._left, self._depth = _MOST_STEPS, 0
        self._patterns = dict[str, SchemaValidator]()
        parts = [*_parts(form, _NOWHERE_ELSE.resolver_with_root(DRAFT202012.create_resource(form)))]
        for part, resolver in parts:
            _require_own_references(part, resolver)
            for pattern in _patterns_of(part):
                self._ready(pattern)
        if all(any(name in part for part, _ in parts) for name in ("patternProperties", "unevaluatedProperties")):
            raise ContextRefused(
                "patternProperties and unevaluatedProperties can't be used together",
                hint="take additionalProperties in place of unevaluatedProperties",
            )

    def first_fault(self, data: JSONObject) -> ValidationError | None:
        """The first rule that the data breaks. Raises ContextRefused, and whatever a hostile schema leads to."""
        own = {
            "pattern": self._pattern,
            "patternProperties": self._pattern_properties,
            "additionalProperties": self._additional_properties,
            "uniqueItems": _unique_items,
        }
        counted = {name: self._counted(check) for name, check in ({**_KEYWORDS} | own).items()}
        rules = validators.extend(Draft202012Validator, counted)  # type: ignore[no-untyped-call]
        return next(iter(rules(self._form, registry=_NOWHERE_ELSE).iter_errors(data)), None)

    def _counted(self, check: Callable[..., Faults | None]) -> Callable[..., Faults]:
        def counted(rules: Any, value: Any, instance: Any, part: Any) -> Faults:  # noqa: ANN401  # any JSON
            self._take(1 + (len(value) if isinstance(value, list | dict) else 0))
            if self._depth == _DEEPEST:
                raise RecursionError
            self._depth += 1
            try:
                yield from check(rules, value, instance, part) or ()
            finally:
                self._depth -= 1

        return counted

    def _take(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise ContextRefused(
                "to hold this data against its schema takes too long", hint="write less data, or use a simpler schema"
            )

    def _ready(self, pattern: str) -> SchemaValidator:
        if pattern not in self._patterns:
            try:
                self._patterns[pattern] = SchemaValidator(core_schema.str_schema(pattern=pattern))
            except NoPattern as error:
                hint = "write it short, and without look-around and back-references"
                raise ContextRefused(f"the pattern {pattern[:80]!r} can't be used", hint=hint) from error
        return self._patterns[pattern]

    def _matches(self, pattern: str, text: str) -> bool:
        return self._ready(pattern).isinstance_python(text)

    def _pattern(self, rules: Any, pattern: str, instance: Any, _part: Any) -> Faults:  # noqa: ANN401  # any JSON
        if rules.is_type(instance, "string") and not self._matches(pattern, instance):
            yield ValidationError(f"{instance!r} does not match {pattern!r}")

    def _pattern_properties(self, rules: Any, by_pattern: Any, instance: Any, _part: Any) -> Faults:  # noqa: ANN401  # any JSON
        if not rules.is_type(instance, "object"):
            return
        self._take(len(instance) * len(by_pattern))
        for pattern, part in by_pattern.items():
            for name, value in instance.items():
                if self._matches(pattern, name):
                    yield from rules.descend(value, part, path=name, schema_path=pattern)

    def _additional_properties(self, rules: Any, allowed: Any, instance: Any, part: Any) -> Faults:  # noqa: ANN401  # any JSON
        """The library's own, which is told of the names that match a pattern as if each were written out."""
        if not rules.is_type(instance, "object"):
            return
        patterns = part.get("patternProperties", {})
        self._take(len(instance) * (1 + len(patterns)))
        known = {name: True for name in instance if any(self._matches(one, name) for one in patterns)}
        written_out = {name: value for name, value in part.items() if name != "patternProperties"}
        written_out["properties"] = {**known, **part.get("properties", {})}
        yield from _KEYWORDS["additionalProperties"](rules, allowed, instance, written_out) or ()


def _unique_items(rules: Any, wanted: Any, instance: Any, _part: Any) -> Faults:  # noqa: ANN401  # any JSON
    """The library's own compares each with each."""
    if not wanted or not rules.is_type(instance, "array"):
        return
    if len({json.dumps(_whole(one), sort_keys=True) for one in instance}) < len(instance):
        yield ValidationError("it holds the same twice")


def _whole(value: object) -> object:
    """The same JSON value, where 1.0 is written as 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {name: _whole(one) for name, one in value.items()}
    return [_whole(one) for one in value] if isinstance(value, list | tuple) else value


def _parts(form: Any, resolver: Any) -> Iterator[tuple[Mapping[str, Any], Any]]:  # noqa: ANN401  # any JSON, and a resolver
    """A schema and all schemas in it, each with what resolves its references."""
    if not isinstance(form, Mapping):  # true or false
        return
    yield form, resolver
    for part in DRAFT202012.subresources_of(form):
        resource: SchemaResource = DRAFT202012.create_resource(part)
        yield from _parts(part, resolver.in_subresource(resource))


def _patterns_of(part: Mapping[str, Any]) -> Sequence[str]:
    one = part.get("pattern")
    return [*part.get("patternProperties", {}), *([one] if isinstance(one, str) else [])]


def _require_own_references(part: Mapping[str, Any], resolver: Any) -> None:  # noqa: ANN401  # the library keeps its type to itself
    for name in ("$ref", "$dynamicRef"):
        if name not in part:
            continue
        try:
            resolver.lookup(part[name])
        except Unresolvable as error:
            raise ContextRefused(
                f"the schema refers to {str(part[name])[:120]!r}, which is not in it",
                hint="write all of it into one schema, under $defs; nothing is fetched",
            ) from error
