"""Answers in JSON: the schema for the model, and the reader of its answer."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from daemon.core.errors import MalformedReply

Model = TypeVar("Model", bound=BaseModel)


def structured(model: type[Model]) -> tuple[Mapping[str, object], Callable[[str], Model]]:
    """The JSON schema of a pydantic model, and a reader of answers in that form.

    The reader ignores fences and text around the JSON object, and raises MalformedReply for no object, a broken one, or
    one that violates the schema.
    """

    def read(reply: str) -> Model:
        start, end = reply.find("{"), reply.rfind("}")
        hint = "answer with one JSON object of the form asked for and nothing else"
        if start < 0 or end < start:
            raise MalformedReply("there is no JSON object in it", reply=reply, hint=hint)
        try:
            return model.model_validate_json(reply[start : end + 1])
        except ValidationError as error:
            found = error.errors(include_input=False)[:5]
            faults = "; ".join(_fault(_place(fault["loc"], fault["type"]), fault["msg"]) for fault in found)
            raise MalformedReply(f"its JSON is wrong: {faults}", reply=reply, hint=hint) from error

    return model.model_json_schema(), read


def _place(place: tuple[int | str, ...], kind: str) -> tuple[int | str, ...]:
    """The place of a fault without unknown keys, since those are the model's own words."""
    return place[:-1] if kind == "extra_forbidden" else place


def _fault(place: tuple[int | str, ...], message: str) -> str:
    return f"{'.'.join(map(str, place))}: {message}" if place else message
