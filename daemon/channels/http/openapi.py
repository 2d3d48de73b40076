"""The OpenAPI 3.1 description of the HTTP API and the table of docs/HTTP.md, made from the routes."""

import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from daemon.channels.http.request import JSON, ErrorAnswer, Scope
from daemon.channels.http.routes import EVENT_STREAM, Answer, Parameter, Route

_REFERENCE: Final = "#/components/schemas/{model}"
_NO_TOKEN: Final[dict[str, list[str]]] = {}
_EVERYWHERE: Final = {
    400: "The request can't be read.",
    403: "The request comes from a web page.",
    421: "The request names another host.",
    500: "Something unexpected failed in the daemon.",
    503: "The daemon can't do it now; try again.",
}
_WITH_A_BODY: Final = {
    408: "The body did not arrive in time.",
    413: "The body is larger than 256 KiB.",
    415: "The body is not plain JSON.",
    422: "A field holds an invalid value.",
}


def table(routes: Iterable[Route]) -> str:
    """Return the rows of docs/HTTP.md, in which each route says what it does and what opens it."""
    return "\n".join(f"| `{one.method} {one.path}` | {_texts(one)[0]} | {one.scope} |" for one in routes)


def description(routes: tuple[Route, ...], version: str) -> dict[str, Any]:  # a JSON document
    """Return the whole description as JSON values. `version` is the program's."""
    _, schemas = models_json_schema(list(_models(routes)), ref_template=_REFERENCE)
    paths: dict[str, dict[str, Any]] = {}
    for one in routes:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Soul Daemon", "version": version, "summary": "Talk with a soul over HTTP."},
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas["$defs"],
        },
    }


def _models(routes: tuple[Route, ...]) -> Iterator[tuple[type[BaseModel], JsonSchemaMode]]:
    requests = {one.body for one in routes if one.body is not None}
    answers = [answer for one in routes for answer in one.answers.values()]
    responses: set[type[BaseModel]] = {ErrorAnswer, *(event for answer in answers for event in answer.events.values())}
    responses |= {answer.model for answer in answers if answer.model is not None}
    for model in sorted(requests, key=lambda one: one.__name__):
        yield model, "validation"
    for model in sorted(responses, key=lambda one: one.__name__):
        yield model, "serialization"


def _operation(route: Route) -> dict[str, Any]:
    summary, text = _texts(route)
    operation: dict[str, Any] = {
        "operationId": route.operation,
        "summary": summary,
        "description": text,
        "responses": {str(status): _success(answer) for status, answer in route.answers.items()},
    }
    for status, meaning in sorted(_errors(route).items()):
        operation["responses"][str(status)] = {"description": meaning, "content": _json(ErrorAnswer)}
    if route.parameters:
        operation["parameters"] = [_parameter(one) for one in route.parameters]
    if route.body is not None:
        operation["requestBody"] = {"required": True, "content": _json(route.body)}
    if route.takes:
        content = {kind: {"schema": {} if kind == JSON else {"type": "string"}} for kind in route.takes}
        operation["requestBody"] = {"required": True, "content": content}
    if route.scope in {Scope.FREE, Scope.SIGNED}:
        operation["security"] = [_NO_TOKEN]
    return operation


def _texts(route: Route) -> tuple[str, str]:
    """Return the summary and the description, without line breaks."""
    summary, _, text = inspect.cleandoc(route.run.__doc__ or "").partition("\n\n")
    return " ".join(summary.split()).removesuffix("."), " ".join(text.split())


def _errors(route: Route) -> Mapping[int, str]:
    errors = dict(_EVERYWHERE)
    if route.scope not in {Scope.FREE, Scope.SIGNED}:
        what = "token or key" if route.scope is Scope.KEYED else "token"
        errors[401] = f"The {what} is missing or wrong."
    if route.body is not None or route.takes:
        errors |= _WITH_A_BODY
    if route.takes:
        errors[415] = f"The body is neither {' nor '.join(route.takes)}."
    return {**errors, **route.errors}


def _success(answer: Answer) -> dict[str, Any]:
    if not answer.content_type:
        return {"description": answer.meaning}
    if answer.model is not None:
        return {"description": answer.meaning, "content": _json(answer.model)}
    if answer.content_type == JSON:
        return {"description": answer.meaning, "content": {JSON: {"schema": {"type": "object"}}}}
    schema = {"oneOf": list(_events(answer))} if answer.content_type == EVENT_STREAM else {"type": "string"}
    return {"description": answer.meaning, "content": {answer.content_type: {"schema": schema}}}


def _events(answer: Answer) -> Iterator[dict[str, Any]]:
    for name, model in answer.events.items():
        data = {"type": "string", "contentMediaType": JSON, "contentSchema": {"$ref": _reference(model)}}
        yield {"type": "object", "required": ["event", "data"], "properties": {"event": {"const": name}, "data": data}}


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "description": parameter.meaning,
        "required": parameter.required or parameter.place == "path",
        "schema": {"type": "string", "pattern": f"^({parameter.pattern})$"},
    }


def _json(model: type[BaseModel]) -> dict[str, Any]:
    return {JSON: {"schema": {"$ref": _reference(model)}}}


def _reference(model: type[BaseModel]) -> str:
    return _REFERENCE.format(model=model.__name__)
