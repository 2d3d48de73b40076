"""Reads what a request says in its query."""

from typing import Final

from aiohttp import web

from daemon.channels.http.errors import Refusal

_LONGEST_WAIT: Final = 25


def seconds_of(request: web.Request) -> float:
    """How long to wait. Raises Refusal."""
    given = request.query.getall("wait", ["0"])
    if len(given) != 1 or not (given[0].isascii() and given[0].isdigit() and int(given[0][:9]) <= _LONGEST_WAIT):
        raise Refusal(422, "invalid", "That can't be waited for.", f"wait=0 to wait={_LONGEST_WAIT}, in seconds")
    return float(given[0])
