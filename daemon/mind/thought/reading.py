"""Reads a thought from a model's answer, part by part."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Final, Literal, TypeVar

import jiter
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from daemon.core.errors import MalformedReply
from daemon.core.text import storable
from daemon.core.value import Value
from daemon.mind.thought.cognitive_output import (
    MOST_OF_A_KIND,
    MOST_PREDICTIONS,
    CognitiveInput,
    CognitiveOutput,
    GoalUpdate,
    MemoryOp,
    Prediction,
    ThoughtToolCall,
    ValueUpdate,
)
from daemon.mind.thought_speech import NOTHING, is_misquoted, is_no_speech, storable_answer, whole_parts

Reason = Literal[
    "unknown",
    "empty",
    "duplicate",
    "too_many",
    "too_long",
    "out_of_range",
    "not_invited",
    "not_now",
    "rate",
    "quiet",
    "authority",
]
Part = TypeVar("Part", bound=BaseModel)

_HINT: Final = "answer with one JSON object of the form asked for and nothing else"
_LISTS: Final[Mapping[str, tuple[type[BaseModel], int]]] = {
    "predictions": (Prediction, MOST_PREDICTIONS),
    "memory_ops": (MemoryOp, MOST_OF_A_KIND),
    "goal_updates": (GoalUpdate, MOST_OF_A_KIND),
    "tool_calls": (ThoughtToolCall, MOST_OF_A_KIND),
    "value_updates": (ValueUpdate, MOST_OF_A_KIND),
}
_BEFORE: Final = re.compile(r"\s*(?:```[a-z]{0,10}\s*)?")
_LOOKED_AT: Final = 100  # items of one list: a model that writes more is not read on
_MOST_REFUSED: Final = 40  # reasons that are kept
_CHOSEN: Final = ("action", "kind", "type", "arguments")
_SPOKEN: Final = ("inner_speech", "external_speech")
_WORLD: Final = "world_model_updates"
_REASONS: Final[Mapping[str, Reason]] = {
    "empty": "empty",
    "missing": "empty",
    "string_too_short": "empty",
    "too_long": "too_many",
    "string_too_long": "too_long",
    "greater_than_equal": "out_of_range",
    "less_than_equal": "out_of_range",
    "finite_number": "out_of_range",
}


class Refused(Value):
    """A part that was left out: its field, and the reason."""

    field: str
    reason: Reason


class NoThought(MalformedReply):
    """An answer holds no thought. `refused` names the faulty field, or "" for the whole answer."""

    def __init__(self, message: str, *, reply: str, hint: str, refused: Refused) -> None:
        super().__init__(message, reply=reply, hint=hint)
        self.refused = refused


class ThoughtRead(Value):
    """A thought as it was read, and the parts that were left out."""

    output: CognitiveOutput
    refused: tuple[Refused, ...] = ()


def read_thought(answer: str) -> ThoughtRead:
    """Read the thought in an answer, in the form of the wire or of the seed. A fence around it is ignored.

    Speech and inner speech must be sound. Every other part is judged alone: an unsound part is left out with its
    reason. Raises NoThought where the answer is no JSON object, or its speech or inner speech is not sound.
    """
    reader, answer = _Reader(), storable_answer(answer)
    try:
        found, _ = reader.decoder.raw_decode(answer, _begin(answer))
    except (ValueError, RecursionError) as error:  # its message would hold the model's words
        if (whole := _ended_behind_speech(answer)) is None:
            raise _no_object(answer) from error
        return _Reader().thought(whole, answer)
    return reader.thought(found, answer)


def read_input(text: str) -> tuple[Refused, ...]:
    """Return the faulty fields of a `CognitiveInput` in JSON, none where it can be read whole.

    Raises NoThought where it is no JSON.
    """
    try:
        CognitiveInput.model_validate_json(text)
    except ValidationError as error:
        faults = error.errors(include_input=False, include_url=False)
        if faults[0]["type"] == "json_invalid":
            hint = "write one JSON object"
            raise NoThought("it is no JSON", reply=text, hint=hint, refused=_whole(text)) from error
        known = CognitiveInput.model_fields
        places = [(str(fault["loc"][0]) if fault["loc"] else "", _reason_of(fault["type"])) for fault in faults]
        return tuple(Refused(name if name in known else "", reason) for name, reason in places)
    return ()


def read_thought_cut(answer: str) -> ThoughtRead:
    """Read the thought in an answer that met the output limit: its complete parts, and its speech so far.

    Raises MalformedReply where it was cut off before its speech began.
    """
    answer = storable_answer(answer)
    begun = answer[_begin(answer) :]
    try:
        spoken = jiter.from_json(begun.encode(), partial_mode="trailing-strings", catch_duplicate_keys=True)
        whole = _whole_of(begun)
    except ValueError as error:
        raise MalformedReply("it was cut off, and broken before", reply=answer, hint=_HINT) from error
    if not isinstance(spoken, dict) or not isinstance(spoken.get("external_speech"), str):
        raise MalformedReply("it was cut off before its speech", reply=answer, hint="be much shorter")
    said = {name: spoken.get(name) for name in _SPOKEN}
    return _Reader().thought({**whole, **said}, answer)


def _no_object(answer: str) -> NoThought:
    return NoThought("it is no JSON object", reply=answer, hint=_HINT, refused=_whole(answer))


def _whole(text: str) -> Refused:
    return Refused("", "unknown" if text.strip() else "empty")


def _no_words(inner: object) -> Refused:
    if isinstance(inner, str):
        return Refused("external_speech", "unknown")
    return Refused("inner_speech", "empty" if inner is None else "unknown")


def _ended_behind_speech(answer: str) -> dict[str, object] | None:
    """Return the complete parts of an answer that ends too early, if its speech is complete."""
    try:
        whole = _whole_of(answer[_begin(answer) :])
    except ValueError:
        return None
    return whole if isinstance(whole.get("external_speech"), str) else None


def _whole_of(begun: str) -> dict[str, object]:
    """Return the complete parts of an object that was cut off. Raises ValueError where it is broken before."""
    if is_misquoted(begun):
        raise ValueError("it goes on behind the end of words")
    whole = jiter.from_json(whole_parts(begun).encode(), partial_mode="on", catch_duplicate_keys=True)
    return whole if isinstance(whole, dict) else {}


def _begin(answer: str) -> int:
    found = _BEFORE.match(answer)
    return found.end() if found else 0


@dataclass(slots=True)
class _Reader:
    refused: list[Refused] = field(default_factory=list)

    @property
    def decoder(self) -> json.JSONDecoder:
        return json.JSONDecoder(object_pairs_hook=self._object, strict=False)

    def _object(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(reversed(pairs))
        if len(found) < len(pairs):
            again = [name for name, group in groupby(sorted(name for name, _ in pairs)) if len(list(group)) > 1]
            for name in again:
                self._refuse(name, "duplicate")
        return {name: found[name] for name, _ in pairs}

    def thought(self, found: object, answer: str) -> ThoughtRead:
        if not isinstance(found, dict):
            raise _no_object(answer)
        inner, speech = found.get("inner_speech"), found.get("external_speech")
        if not isinstance(inner, str) or not isinstance(speech, str | None):
            said = "its inner_speech or external_speech is not words"
            raise NoThought(said, reply=answer, hint=_HINT, refused=_no_words(inner))
        parts: dict[str, object] = {"inner_speech": _kept(inner)}
        if "external_speech" in found:
            parts["external_speech"] = None if is_no_speech(said := _kept(speech or "")) else said
        for name, value in found.items():
            if name in _SPOKEN:
                continue
            if name not in CognitiveOutput.model_fields:
                self._refuse("", "unknown")
            elif (part := self._part(name, _plain(name, value))) is not None:
                parts[name] = part
        return ThoughtRead(CognitiveOutput.model_validate(parts), tuple(self.refused))

    def _part(self, name: str, value: object) -> object:
        if value is None:
            return None
        if name in _LISTS:
            return self._several(name, value)
        if name == _WORLD:
            return self._world(value)
        if isinstance(value, dict):
            return self._attributes(name, value)
        return self._sound(name, value)

    def _several(self, name: str, value: object) -> list[object] | None:
        model, most = _LISTS[name]
        if not isinstance(value, list):
            self._refuse(name, "unknown")
            return None
        kept: list[object] = []
        if len(value) > _LOOKED_AT:
            self._refuse(name, "too_many")
        for item in value[:_LOOKED_AT]:
            try:
                part = model.model_validate(_plain_item(name, item))
            except ValidationError as error:
                self._refuse(name, _reason(error))
                continue
            if part in kept:
                self._refuse(name, "duplicate")
            elif len(kept) == most:
                self._refuse(name, "too_many")
            else:
                kept.append(part)
        return kept

    def _attributes(self, name: str, value: Mapping[str, object]) -> object:
        """Return an object without its unsound attributes, None where nothing is left."""
        left = dict(value)
        while True:
            try:
                return _ADAPTERS[name].validate_python(left)
            except ValidationError as error:
                faults = error.errors(include_input=False, include_url=False)
            unsound: dict[str, str] = {}
            for one in faults:
                unsound.setdefault(str(one["loc"][0]) if one["loc"] else "", one["type"])
            for attribute, kind in unsound.items():
                if attribute in left or left == value:  # else it is needed, and was left out before
                    self._refuse(name, _reason_of(kind))
            if not unsound.keys() & left.keys():
                return None
            left = {attribute: held for attribute, held in left.items() if attribute not in unsound}

    def _sound(self, name: str, value: object) -> object:
        try:
            return _ADAPTERS[name].validate_python(value)
        except ValidationError as error:
            self._refuse(name, _reason(error))
            return None

    def _world(self, value: object) -> dict[str, dict[str, str]]:
        """Return attributes by entity, each judged alone."""
        kept: dict[str, dict[str, str]] = {}
        for entity, attribute, words in islice(self._pairs(value), _LOOKED_AT):
            if not isinstance(entity, str) or not isinstance(attribute, str):
                self._refuse(_WORLD, "unknown")
                continue
            try:
                ((who, held),) = _ENTITIES.validate_python({entity: {attribute: words}}).items()
            except ValidationError as error:
                self._refuse(_WORLD, _reason(error))
                continue
            ((what, said),) = held.items()
            known = kept.get(who, {})
            if what in known:
                self._refuse(_WORLD, "duplicate")
            elif len(known) == MOST_OF_A_KIND or (who not in kept and len(kept) == MOST_OF_A_KIND):
                self._refuse(_WORLD, "too_many")
            else:
                kept[who] = {**known, what: said}
        return kept

    def _pairs(self, value: object) -> Iterable[tuple[object, object, object]]:
        if isinstance(value, dict):  # the seed's form
            for entity, held in value.items():
                if isinstance(held, dict):
                    yield from ((entity, attribute, words) for attribute, words in held.items())
                else:
                    self._refuse(_WORLD, "unknown")
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, dict):
                    yield item.get("entity"), item.get("attribute"), item.get("value")
                else:
                    self._refuse(_WORLD, "unknown")
        else:
            self._refuse(_WORLD, "unknown")

    def _refuse(self, name: str, reason: Reason) -> None:
        """Leave a part out. A name that is the model's own is not repeated."""
        known = name if name in CognitiveOutput.model_fields else ""
        if len(self.refused) < _MOST_REFUSED:
            self.refused.append(Refused(known, reason))


_ADAPTERS: Final[Mapping[str, TypeAdapter[object]]] = {
    name: TypeAdapter(about.rebuild_annotation()) for name, about in CognitiveOutput.model_fields.items()
}


_ENTITIES: Final[TypeAdapter[dict[str, dict[str, str]]]] = TypeAdapter(
    CognitiveOutput.model_fields[_WORLD].rebuild_annotation(), config=ConfigDict(str_strip_whitespace=True)
)


def _kept(words: str) -> str:
    """Return words as they can be stored: an escape in JSON may be half a character, or NUL."""
    return storable(words).replace("\0", "").strip()


def _reason(error: ValidationError) -> Reason:
    return _reason_of(error.errors(include_input=False, include_url=False)[0]["type"])


def _reason_of(kind: str) -> Reason:
    return _REASONS.get(kind, "unknown")


def _plain(name: str, value: object) -> object:
    """Return a part without values that mean none: zeros, empty objects, and the words that models write for none."""
    value = value if name == _WORLD else _without_nothings(value)
    if value in ("", 0) and not isinstance(value, bool):
        return None
    if not isinstance(value, dict):
        return value
    nothing_said = {
        "identity_update": value.get("action") in (None, "", "none"),
        "cycle_rate": not value.get("seconds"),
        "growth_reflection": not _says_anything(value),
    }
    if nothing_said.get(name):
        return None
    pair = _object_in(said) if isinstance(said := value.get("training_pair_suggestion"), str) else said
    pair = None if isinstance(pair, dict) and not _says_anything(pair) else pair
    return {**value, "training_pair_suggestion": pair} if name == "growth_reflection" else value


def _without_nothings(value: object, name: str = "") -> object:
    if isinstance(value, str):
        return "" if value.strip().casefold() in NOTHING and name not in _CHOSEN else value
    if isinstance(value, list):
        return [_without_nothings(one) for one in value[:_LOOKED_AT]] + value[_LOOKED_AT:]
    if isinstance(value, dict) and name not in _CHOSEN:
        return {key: _without_nothings(one, key) for key, one in value.items()}
    return value


def _plain_item(name: str, item: object) -> object:
    if not isinstance(item, dict):
        return item
    zeros: dict[str, object] = {one: None for one in ("significance", "priority") if item.get(one) == 0}
    if name == "tool_calls" and isinstance(arguments := item.get("arguments"), str):
        zeros["arguments"] = _object_in(arguments)
    return {**item, **zeros}


def _object_in(text: str) -> object:
    if not text.strip():
        return {}
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _says_anything(value: Mapping[str, object]) -> bool:
    return any(any(one.values()) if isinstance(one, dict) else bool(one) for one in value.values())
