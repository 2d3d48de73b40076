"""The OpenAPI 3.1 description of the HTTP door, made from the route table and the models."""

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from daemon.channels.http.routes import FAULT, JSON, ROUTES, Answer, Parameter, Route
from daemon.channels.http.schemas import EVENTS, ID

_REFERENCE = "#/components/schemas/{model}"
_NO_TOKEN: dict[str, list[str]] = {}


def description(version: str) -> dict[str, Any]:  # a JSON document
    """The whole description as JSON values; `version` is the program's."""
    _, schemas = models_json_schema(list(_shapes()), ref_template=_REFERENCE)
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


def _shapes() -> Iterator[tuple[type[BaseModel], JsonSchemaMode]]:
    asked = {route.body for route in ROUTES if route.body is not None}
    told: set[type[BaseModel]] = {FAULT, *EVENTS.values()}
    told |= {answer.shape for route in ROUTES for answer in route.answers.values() if answer.shape is not None}
    for shape in sorted(asked, key=lambda one: one.__name__):
        yield shape, "validation"
    for shape in sorted(told, key=lambda one: one.__name__):
        yield shape, "serialization"


def _operation(route: Route) -> dict[str, Any]:
    told: dict[str, Any] = {
        "operationId": str(route.operation),
        "summary": route.summary,
        "description": route.description,
        "responses": {str(status): _success(answer) for status, answer in route.answers.items()},
    }
    for status, meaning in route.all_faults.items():
        told["responses"][str(status)] = {"description": meaning, "content": _json(FAULT)}
    if route.parameters:
        told["parameters"] = [_parameter(parameter) for parameter in route.parameters]
    if route.body is not None:
        told["requestBody"] = {"required": True, "content": _json(route.body)}
    if route.free:
        told["security"] = [_NO_TOKEN]
    return told


def _success(answer: Answer) -> dict[str, Any]:
    if answer.shape is not None:
        return {"description": answer.meaning, "content": _json(answer.shape)}
    if answer.kind == JSON:
        return {"description": answer.meaning, "content": {JSON: {"schema": {"type": "object"}}}}
    schema = {"oneOf": list(_events())} if answer.kind == "text/event-stream" else {"type": "string"}
    return {"description": answer.meaning, "content": {answer.kind: {"schema": schema}}}


def _events() -> Iterator[dict[str, Any]]:
    """What one event of a stream is; its data are JSON."""
    for name, shape in EVENTS.items():
        data = {"type": "string", "contentMediaType": JSON, "contentSchema": {"$ref": _named(shape)}}
        yield {"type": "object", "required": ["event", "data"], "properties": {"event": {"const": name}, "data": data}}


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "description": parameter.meaning,
        "required": parameter.place == "path",
        "schema": {"type": "string", "pattern": f"^{ID}$"},
    }


def _json(shape: type[BaseModel]) -> dict[str, Any]:
    return {JSON: {"schema": {"$ref": _named(shape)}}}


def _named(shape: type[BaseModel]) -> str:
    return _REFERENCE.format(model=shape.__name__)
