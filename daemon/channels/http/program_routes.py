"""The routes by which programs report: what a soul may speak of, and what its senses tell it."""

from typing import Final

from daemon.channels.http.route import JSON, Answer, Parameter, Route
from daemon.channels.http.schemas import EventTaken, ReadingPerceived, SenseReading
from daemon.core.event_sources import NAME

PROGRAM_ROUTES: Final = (
    Route(
        "report",
        lambda pages: pages.events.take,
        "POST",
        "/api/events",
        "Report an event to a soul",
        "For programs that `soul events add` lets report in one room: a build, a monitor, a forge. The event "
        "is stored before the response and perceived once; whether the soul says anything of it is up to the soul. "
        "A text is kept as it is, JSON as lines of `name: value` without ids, 4,000 characters at most. It is signed "
        "as standardwebhooks.com says, with the headers `webhook-id`, `webhook-timestamp` (at most five minutes off) "
        "and `webhook-signature`: `v1,` and the Base64 of the HMAC-SHA256 over `id.timestamp.body`; or as GitHub "
        "signs, with `X-Hub-Signature-256`. The same id again is not perceived again. How to set it up: "
        "docs/EXTENDING.md.",
        {202: Answer("It is stored, or it was before.", model=EventTaken)},
        {
            401: "The source or the signature is missing, wrong, or more than five minutes off.",
            409: "An event with another body has this id.",
            413: "The body is larger than 64 KiB.",
            429: "The source sent too many events in a minute.",
        },
        parameters=(Parameter("source", "query", "The name of the source.", NAME.pattern, required=True),),
        free=True,
        takes=(JSON, "text/plain"),
    ),
    Route(
        "sense",
        lambda pages: pages.senses.take,
        "POST",
        "/api/soul/sense",
        "Let the soul sense something",
        "For a build, a monitor, a sensor: something is so, and no answer is due. The reading waits in the "
        "conversations that the answer names, and the next thought there perceives it, as data. It wakes a thought of "
        "a soul that thinks by itself where it shares words with what the soul means to do there or looks out for "
        "(docs/MIND.md). `room` and `thread` name a conversation that people have had with the soul. Without `thread` "
        "a reading for a channel goes into those of its threads, three at most, in which the soul means to do "
        "something with which it shares words. It is stored before the response; the same id with the same words "
        "gives the same answer again. In place of the token it may be signed, as events are (POST /api/events), by a "
        "source that the query names; such a one tells of its own room alone.",
        {202: Answer("It is stored, or it was before.", model=ReadingPerceived)},
        {
            401: "The token is missing or wrong, or the signature is, or it is more than five minutes off.",
            404: "The soul has no such conversation, or nothing in the channel's threads that this is about.",
            409: "A reading with other words has this id.",
            413: "The body is larger than 64 KiB.",
            429: "60 readings came with this token or from this source in a minute.",
        },
        body=SenseReading,
        parameters=(Parameter("source", "query", "The name of the source that signs it.", NAME.pattern),),
        signed=True,
    ),
)
