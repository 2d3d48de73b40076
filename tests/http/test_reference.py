"""docs/HTTP.md says what the HTTP API does."""

from pathlib import Path

from daemon.channels.http.routes import ROUTES
from daemon.channels.http.schemas import EVENTS
from daemon.cli.reference.http_api import http_reference

ROOT = Path(__file__).parents[2]


def test_the_page_is_generated_from_the_route_table() -> None:
    written = (ROOT / "docs" / "HTTP.md").read_text(encoding="utf-8")
    assert written == http_reference(), "run: python -m daemon.cli.reference.http_api docs/HTTP.md"


def test_the_page_has_every_route_and_event() -> None:
    page = http_reference()
    assert all(f"## `{route.method} {route.path}`" in page for route in ROUTES)
    assert all(f"### `{name}`" in page for name in EVENTS)
