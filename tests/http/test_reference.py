"""The document about the HTTP door says what the door does."""

from pathlib import Path

from daemon.channels.http.routes import ROUTES
from daemon.channels.http.schemas import EVENTS
from daemon.cli.reference.http_api import http_reference

ROOT = Path(__file__).parents[2]


def test_the_document_is_what_the_route_table_says() -> None:
    written = (ROOT / "docs" / "HTTP.md").read_text(encoding="utf-8")
    assert written == http_reference(), "run: python -m daemon.cli.reference.http_api docs/HTTP.md"


def test_the_document_tells_of_every_route_and_event() -> None:
    told = http_reference()
    assert all(f"## `{route.method} {route.path}`" in told for route in ROUTES)
    assert all(f"### `{name}`" in told for name in EVENTS)
