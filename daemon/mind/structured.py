"""Steps whose answer is one JSON object: its schema, its reading, and the cleaning of its texts."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from daemon.core.errors import MalformedReply
from daemon.core.ports.services import Effort
from daemon.core.step import Step
from daemon.core.telemetry.redaction import remove_keys
from daemon.core.text import one_line, shortened
from daemon.core.working_memory import Memory, WorkingMemory

Model = TypeVar("Model", bound=BaseModel)
T = TypeVar("T")

_HINT = "answer with one JSON object of the form asked for and nothing else"


class JSONAnswer(BaseModel):
    """A model's answer as a value: it holds no field that was not asked for, and its texts are clean."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def clean_line(text: str, most: int) -> str:
    """Return a model's text on one line, without keys and with at most so many characters."""
    return shortened(one_line(remove_keys(text)), most)


def within(most: int) -> AfterValidator:
    """Return the validator of a line with at most so many characters."""
    return AfterValidator(lambda text: clean_line(text, most))


def filled_items(most: int) -> AfterValidator:
    """Return the validator of a list: its first items, without empty ones."""
    return AfterValidator(lambda items: tuple(filter(None, items[:most])))


def between(least: int, most: int) -> AfterValidator:
    """Return the validator that moves a number into these bounds."""
    return AfterValidator(lambda number: min(most, max(least, number)))


Stripped = Annotated[str, AfterValidator(str.strip)]
OneLine = Annotated[str, AfterValidator(one_line)]


def structured(model: type[Model]) -> tuple[dict[str, Any], Callable[[str], Model]]:
    """Return the JSON schema of a pydantic model, without its docstring, and a reader of answers in that form.

    The reader ignores fences and text around the JSON object. It raises MalformedReply for no object, a broken one, or
    one that violates the schema.
    """

    def read(reply: str) -> Model:
        start, end = reply.find("{"), reply.rfind("}")
        if start < 0 or end < start:
            raise MalformedReply("there is no JSON object in it", reply=reply, hint=_HINT)
        try:
            return model.model_validate_json(reply[start : end + 1])
        except ValidationError as error:
            found = error.errors(include_input=False)[:5]
            faults = "; ".join(_fault(_place(fault["loc"], fault["type"]), fault["msg"]) for fault in found)
            raise MalformedReply(f"its JSON is wrong: {faults}", reply=reply, hint=_HINT) from error

    return {key: value for key, value in model.model_json_schema().items() if key != "description"}, read


def structured_step(
    name: str,
    command: str | Callable[[WorkingMemory], str],
    answer: type[Model],
    take: Callable[[Model], T],
    *,
    placeholder: str,
    max_output_tokens: int,
    creativity: float = 0.2,
    effort: Effort = Effort.LOW,
    json_schema: Mapping[str, object] | None = None,
    choices: Mapping[str, Sequence[str]] | None = None,
    remember: Callable[[T], tuple[Memory, ...]] = lambda _: (),
    reads_cut: bool = False,
) -> Step[T]:
    """Build the step whose answer is a JSON object of the form of `answer`, from which `take` makes the value.

    `take` may raise MalformedReply without the reply. `choices` are the only values of a field, by its name.
    `reads_cut`: an answer that was cut off is read like any other. For the rest see `Step`.
    """
    schema, read_answer = structured(answer)
    one_of = {field: {"type": "string", "enum": list(options)} for field, options in (choices or {}).items()}

    def read(reply: str) -> T:
        try:
            return take(read_answer(reply))
        except MalformedReply as fault:
            fault.reply = reply
            raise

    return Step(
        name=name,
        command=command,
        read=read,
        remember=remember,
        creativity=creativity,
        effort=effort,
        json_schema=json_schema or {**schema, "properties": {**schema["properties"], **one_of}},
        placeholder=placeholder,
        max_output_tokens=max_output_tokens,
        read_cut=read if reads_cut else None,
    )


def as_it_is(answer: T) -> T:
    """Return an answer that is the value of its step already."""
    return answer


def _place(place: tuple[int | str, ...], kind: str) -> tuple[int | str, ...]:
    """Return the place of a fault without unknown keys, since those are the model's own words."""
    return place[:-1] if kind == "extra_forbidden" else place


def _fault(place: tuple[int | str, ...], message: str) -> str:
    return f"{'.'.join(map(str, place))}: {message}" if place else message
