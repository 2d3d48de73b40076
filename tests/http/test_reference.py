"""docs/HTTP.md names every route and every event of the HTTP API."""

import re
from pathlib import Path

from daemon.channels.http.endpoints import Route
from daemon.channels.http.routes import ROUTES
from daemon.channels.http.schemas import CONTEXT_EVENTS, EVENTS

PAGE = Path(__file__).parents[2] / "docs" / "HTTP.md"


def test_the_page_names_every_route_and_event_and_how_it_opens() -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([A-Z]+ /\S*)` \| .+ \| (.+) \|$", page, re.MULTILINE))
    assert {route: opens.split(" or ")[-1] for route, opens in rows.items()} == {
        f"{one.method} {one.path}": _opens_with(one) for one in ROUTES
    }
    assert {f"soul:{name}" for name in re.findall(r"`soul:(\w+:\w+)`", page)} == {*EVENTS, *CONTEXT_EVENTS}


def _opens_with(route: Route) -> str:
    if route.path == "/api/events" or route.signed:
        return "signature"
    return "key" if route.keyed else "-" if route.free else "token"
