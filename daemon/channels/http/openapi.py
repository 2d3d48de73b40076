"""The OpenAPI 3.1 description of the HTTP API, made from the route table and the models."""

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from daemon.channels.http.endpoints import EVENT_STREAM, JSON, Answer, Parameter, Route
from daemon.channels.http.routes import ROUTES
from daemon.channels.http.schemas import ErrorAnswer

_REFERENCE = "#/components/schemas/{model}"
_NO_TOKEN: dict[str, list[str]] = {}


def description(version: str) -> dict[str, Any]:  # a JSON document
    """Return the whole description as JSON values. `version` is the program's."""
    _, schemas = models_json_schema(list(_models()), ref_template=_REFERENCE)
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
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


def _models() -> Iterator[tuple[type[BaseModel], JsonSchemaMode]]:
    requests = {route.body for route in ROUTES if route.body is not None}
    answers = [answer for route in ROUTES for answer in route.answers.values()]
    responses: set[type[BaseModel]] = {ErrorAnswer, *(event for answer in answers for event in answer.events.values())}
    responses |= {answer.model for answer in answers if answer.model is not None}
    for model in sorted(requests, key=lambda one: one.__name__):
        yield model, "validation"
    for model in sorted(responses, key=lambda one: one.__name__):
        yield model, "serialization"


def _operation(route: Route) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.operation,
        "summary": route.summary,
        "description": route.description,
        "responses": {str(status): _success(answer) for status, answer in route.answers.items()},
    }
    for status, meaning in route.all_errors.items():
        operation["responses"][str(status)] = {"description": meaning, "content": _json(ErrorAnswer)}
    if route.parameters:
        operation["parameters"] = [_parameter(parameter) for parameter in route.parameters]
    if route.body is not None:
        operation["requestBody"] = {"required": True, "content": _json(route.body)}
    if route.takes:
        content = {kind: {"schema": {} if kind == JSON else {"type": "string"}} for kind in route.takes}
        operation["requestBody"] = {"required": True, "content": content}
    if route.free:
        operation["security"] = [_NO_TOKEN]
    return operation


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
