"""docs/HTTP.md names every route and every event of the HTTP API."""

import re
from pathlib import Path

from daemon.channels.http.channel import ROUTES
from daemon.channels.http.contexts import CONTEXT_EVENTS
from daemon.channels.http.openapi import table
from daemon.channels.http.stream import EVENTS

PAGE = Path(__file__).parents[2] / "docs" / "HTTP.md"


def test_the_page_names_every_route_and_event_and_how_it_opens() -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = "\n".join(re.findall(r"^\| `.*$", page, re.MULTILINE))
    assert rows == table(ROUTES), "copy these rows into the page"
    assert {f"soul:{name}" for name in re.findall(r"`soul:(\w+:\w+)`", page)} == {*EVENTS, *CONTEXT_EVENTS}
