"""Writes `docs/HTTP.md` from the route table and the models of the HTTP API."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from daemon.channels.http.openapi import description
from daemon.channels.http.route import Route
from daemon.channels.http.routes import ROUTES
from daemon.channels.http.schemas import CONTEXT_EVENTS, EVENTS

_HEADER = """\
# The HTTP API

`python -m daemon.cli.reference.http_api FILE` makes this page from the route table; a test compares the two.
Programs find the same at `GET /openapi.json`.

The daemon listens on `http://127.0.0.1:8766` unless `SOUL_HTTP_HOST` and `SOUL_HTTP_PORT` say otherwise;
`SOUL_HTTP=false` switches the API off. A second daemon on the same memory.db takes a free port where that one is taken,
which `soul status` shows. Send `Authorization: Bearer …` with the value of `SOUL_HTTP_TOKEN`, or with the
token that the first start wrote to `http.token` beside `memory.db`. Every program with the token may talk to the soul.
A session is a conversation: no other session learns what was said in it. Yet who holds the token counts as a full
member: the soul may tell them what was said in public channels, and they can read every session whose name they guess,
so use long random names for sessions, and give the token to no one who may not know that.

```sh
curl -N http://127.0.0.1:8766/api/soul/chat -H "Authorization: Bearer $(cat http.token)" \\
  -H 'Content-Type: application/json' -d '{"message": "Hello!", "session": "me", "message_id": "1"}'
```

Every error is JSON: `{"error": {"code", "message", "hint"}}`. The code never changes, the message says what happened,
the hint what to do. Web pages are refused even with the token, and so are requests that name another host.
"""


def http_reference() -> str:
    """The whole page."""
    schemas: dict[str, Any] = description("")["components"]["schemas"]
    parts = [_HEADER, *(_section(route, schemas) for route in ROUTES), "## Events of a stream\n"]
    for name, model in (EVENTS | CONTEXT_EVENTS).items():
        parts.append(f"### `{name}`\n\n{_fields(schemas, model.__name__)}")
    return "\n".join(parts)


def _section(route: Route, schemas: dict[str, Any]) -> str:
    lines = [
        f"## `{route.method} {route.path}`\n",
        f"{route.summary}. {route.description}{'' if not route.free else ' No token is needed.'}\n",
    ]
    lines += [f"- `{one.name}` ({one.place}): {one.meaning}" for one in route.parameters]
    if route.parameters:
        lines.append("")
    if route.body is not None:
        lines.append(f"Body:\n\n{_fields(schemas, route.body.__name__)}")
    if route.takes:
        lines.append(f"Body: {' or '.join(f'`{kind}`' for kind in route.takes)} of any form.\n")
    lines += ["| status | content | meaning |", "|---|---|---|"]
    for status, answer in route.answers.items():
        lines.append(f"| {status} | {f'`{answer.content_type}`' if answer.content_type else '-'} | {answer.meaning} |")
    lines += [f"| {status} | error | {meaning} |" for status, meaning in route.all_errors.items()]
    models = sorted({answer.model.__name__ for answer in route.answers.values() if answer.model is not None})
    lines += [f"\n`{name}`:\n\n{_fields(schemas, name)}".rstrip() for name in models]
    return "\n".join((*lines, ""))


def _fields(schemas: dict[str, Any], name: str) -> str:
    """A model's description and the table of its fields."""
    schema = schemas[name]
    if "properties" not in schema:
        return f"{schema['description']}\n"
    rows = (_row(field, given, field in schema.get("required", ())) for field, given in schema["properties"].items())
    table = ["| field | type | meaning |", "|---|---|---|", *rows]
    return f"{schema['description']}\n\n" + "\n".join(table) + "\n"


def _row(field: str, schema: dict[str, Any], required: bool) -> str:
    kind = " or ".join(_kinds(schema))
    return f"| `{field}` | {kind if required else f'{kind}, optional'} | {schema.get('description', '')} |"


def _kinds(schema: dict[str, Any]) -> Iterator[str]:
    for option in schema.get("anyOf", [schema]):
        if option.get("type") == "null":
            continue
        yield (
            f"list of {option['items'].get('type', 'object')}s"
            if option.get("type") == "array"
            else option.get("type", "object")
        )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(http_reference(), encoding="utf-8")
