"""The one table of routes, from which the server and the OpenAPI description are made."""

from typing import Final

from daemon.channels.http.endpoints import EVENT_STREAM, PROGRAM_ROUTES, Answer, Parameter, Route
from daemon.channels.http.pairing import PairBegun, PairKey, PairRequest, PairWaits
from daemon.channels.http.schemas import (
    CONTEXT_EVENTS,
    EVENTS,
    Alive,
    ChatAnswer,
    ChatPending,
    ChatRequest,
    ContextAnswer,
    ContextConflictAnswer,
    ContextData,
    ContextList,
    McpMessage,
    MemberAnswer,
    MemberList,
    MemberState,
    Queued,
    SpeechRequest,
    SubprocessRequest,
)
from daemon.channels.http.sessions import EventAnswer, NoteList, NoteReply, SessionEvent, SessionList
from daemon.core.contexts import KEY
from daemon.core.pairing import CODE
from daemon.core.ports.arrivals import NAME_PATTERN

_KEY: Final = Parameter(
    "key",
    "path",
    "The key: up to 64 of a-z, 0-9, dot, hyphen and underscore, the first a letter or a digit.",
    KEY.pattern,
)
_MEMBER: Final = Parameter(
    "member",
    "path",
    "The name: up to 64 of letters, digits and `. _ : @ -`, the first a letter or a digit.",
    NAME_PATTERN,
)
_SESSION: Final = Parameter("id", "path", "The session.")
_BAD_KEY: Final = {404: "The context is not for all of the workspace.", 422: "That can't be a key."}


def _wait(what: str) -> Parameter:
    return Parameter("wait", "query", f"Seconds to wait for {what}, up to 25.", "[0-9]|1[0-9]|2[0-5]")


ROUTES: Final = (
    Route(
        "chat",
        lambda pages: pages.chat.post,
        "POST",
        "/api/soul/chat",
        "Send a message and stream the reply",
        "The reply comes as server-sent events: `soul:stream:start`, then any number of `soul:stream:chunk` and "
        "`soul:stream:task`, and at the end `soul:stream:done` or `soul:stream:error`. Chunks are a draft; the text of "
        "`done` is the reply. A second `start` means that the draft begins again. The message is stored before the "
        "stream begins, so a client that disconnects loses nothing: the same message_id in the same session brings the "
        "same reply again, also after a restart of the daemon. Lines that begin with a colon are keep-alives.",
        {200: Answer("The reply as it is made.", EVENT_STREAM, events=EVENTS)},
        {409: "A message with a different text has this message_id."},
        body=ChatRequest,
    ),
    Route(
        "answer",
        lambda pages: pages.chat.fetch,
        "GET",
        "/api/soul/chat/{session}/{message_id}",
        "Fetch the reply to a message",
        "For clients that don't read a stream.",
        {
            200: Answer("The reply.", model=ChatAnswer),
            202: Answer("The reply is being made; ask again.", model=ChatPending),
        },
        {404: "No such message has arrived.", 410: "There is no reply; the hint says what to do."},
        parameters=(
            Parameter("session", "path", "The conversation."),
            Parameter("message_id", "path", "The message in it."),
        ),
    ),
    Route(
        "subprocess",
        lambda pages: pages.daemon.subprocess,
        "POST",
        "/api/soul/subprocess",
        "Queue the background jobs of a conversation",
        "The jobs that the soul runs after a reply, such as modelling the user.",
        {202: Answer("The jobs are queued.", model=Queued)},
        {404: "No such conversation."},
        body=SubprocessRequest,
    ),
    Route(
        "personality",
        lambda pages: pages.daemon.personality,
        "GET",
        "/api/soul/personality",
        "Read the soul's personality",
        "The soul's own markdown, or that of one of its modes.",
        {200: Answer("The personality.", "text/markdown")},
        {404: "The soul has no such mode.", 422: "That can't be the name of a mode."},
        parameters=(Parameter("mode", "query", "One of the soul's modes, for instance `academic`."),),
    ),
    Route(
        "tts",
        lambda pages: pages.tts.speak,
        "POST",
        "/api/soul/tts",
        "Read a text aloud",
        "Through the speech endpoint in the settings, else with espeak-ng. The endpoint's audio streams.",
        {200: Answer("The audio; WAV from espeak-ng.", "audio/*")},
        {
            501: "No speech is set up; the hint says what to set or install.",
            502: "The speech failed.",
            503: "The cap on what may be spent leaves no room for it, or memory.db can't be written; nothing was sent.",
        },
        body=SpeechRequest,
    ),
    Route(
        "session_event",
        lambda pages: pages.sessions.take,
        "POST",
        "/api/sessions/events",
        "Report what happens in a session of Claude Code",
        "What one hook got, sent by its script. Each id counts once, and what is older than the newest event of its "
        "session changes nothing. The answer to a start, and to a prompt, may hold a text for the session. Takes the "
        "key of a person's sessions, too.",
        {200: Answer("It is taken.", model=EventAnswer)},
        {
            404: "The session is another person's.",
            409: "The key has 200 sessions that have not ended. Of those that ended the oldest are deleted.",
        },
        body=SessionEvent,
        keyed=True,
    ),
    Route(
        "sessions",
        lambda pages: pages.sessions.list,
        "GET",
        "/api/sessions",
        "List the sessions of Claude Code",
        "With a key those of its person, with the token all. 500 at most: those that have not ended, then those that "
        "were seen last. Of one key 200 are kept.",
        {200: Answer("The sessions, living ones first.", model=SessionList)},
        keyed=True,
    ),
    Route(
        "session_notes",
        lambda pages: pages.sessions.notes,
        "GET",
        "/api/sessions/{id}/notes",
        "Fetch what people ask a session",
        "What waits for an answer, oldest first; it counts as read. With the key with which the session came. The "
        "session's companion names the `process`, too: then the header Soul-Session holds the id of the session that "
        "runs there now, at once where that is another, and the list the one note with which the companion is to wake "
        "it, which counts as read once a turn begins with it. The session is gone when its companion comes no more.",
        {200: Answer("The notes.", model=NoteList)},
        {404: "The session came with another key.", 422: "That can't be waited for."},
        parameters=(
            _SESSION,
            _wait("a new one"),
            Parameter("process", "query", "Of a companion: the session's process, as its hooks name it.", ".{1,400}"),
            Parameter("wakes", "query", "Of a companion: whether it can wake the session.", "yes|no"),
        ),
        keyed=True,
    ),
    Route(
        "answer_note",
        lambda pages: pages.sessions.reply,
        "POST",
        "/api/sessions/{id}/notes/{note}/answer",
        "Answer what people ask a session",
        "The answer goes word for word where it was asked, once.",
        {204: Answer("It is taken.", "")},
        {404: "There is no such note to a session of this key.", 409: "It is settled already."},
        body=NoteReply,
        parameters=(_SESSION, Parameter("note", "path", "The note.")),
        keyed=True,
    ),
    Route(
        "pair",
        lambda pages: pages.pairing.begin,
        "POST",
        "/api/pair",
        "Ask for a key",
        "Gives a machine a code and a secret. Its person writes `pair CODE` to the soul in a direct message, is shown "
        "what the machine calls itself, and decides there by a click what its key may. A code lives for ten minutes. "
        "It is dead after five wrong tries, and once two people have typed it. Needs no token.",
        {200: Answer("The code and the secret.", model=PairBegun)},
        {429: "Ten codes a minute are given out, and twenty may be open; a third of both for one account or address."},
        body=PairRequest,
        free=True,
    ),
    Route(
        "paired",
        lambda pages: pages.pairing.fetch,
        "GET",
        "/api/pair/{code}",
        "Fetch the key",
        "The bearer token is the secret. The key is given once: who fetches it a second time, with the same "
        "secret, ends it.",
        {
            200: Answer("The key, which is shown this once.", model=PairKey),
            202: Answer("The person has not decided yet; ask again.", model=PairWaits),
        },
        {
            404: "There is no such code, it is over, or the secret is another.",
            410: "The code gives no key any more; the message says why.",
            422: "That can't be waited for.",
            429: "Forty machines wait already.",
        },
        parameters=(
            Parameter("code", "path", "The code, as `BCDF-GHJK`.", CODE.pattern),
            _wait("a decision"),
        ),
        free=True,
    ),
    Route(
        "contexts",
        lambda pages: pages.contexts.all,
        "GET",
        "/api/shared-context",
        "List the shared contexts",
        "Those that all of the workspace may read, by key: what souls and people share (docs/SHARING.md). These routes "
        "take the key of a person's sessions, too.",
        {200: Answer("The contexts.", model=ContextList)},
        keyed=True,
    ),
    Route(
        "context",
        lambda pages: pages.contexts.get,
        "GET",
        "/api/shared-context/{key}",
        "Read a shared context",
        "The header ETag holds the version in quotes. A key that was never written is version 0 with `{}`.",
        {200: Answer("The context.", model=ContextAnswer)},
        _BAD_KEY,
        parameters=(_KEY,),
        keyed=True,
    ),
    Route(
        "set_context",
        lambda pages: pages.contexts.put,
        "PUT",
        "/api/shared-context/{key}",
        "Replace the data of a shared context",
        "The body is the data. It is written only if the version in `If-Match` is still the newest. The same data as "
        "before is no new version. The author is `operator`, with a person's key that person.",
        {
            200: Answer("The context as it is now.", model=ContextAnswer),
            412: Answer("Another was faster, and nothing was written.", model=ContextConflictAnswer),
        },
        {
            404: "The context is not for all of the workspace.",
            422: "That can't be a key, or the data doesn't fit.",
            428: "The header If-Match is missing.",
        },
        body=ContextData,
        parameters=(
            _KEY,
            Parameter(
                "If-Match",
                "header",
                'The version that you saw, in quotes: `"7"`; `*` replaces any.',
                r'\*|"[0-9]{1,18}"',
                required=True,
            ),
        ),
        keyed=True,
    ),
    Route(
        "watch_context",
        lambda pages: pages.contexts.watch,
        "GET",
        "/api/shared-context/{key}/events",
        "Watch a shared context",
        "Server-sent events: `soul:context:changed` now and at each change; of several at once the newest. "
        "Lines that begin with a colon are keep-alives. The stream ends when the daemon stops: ask again then.",
        {200: Answer("The changes as they happen.", EVENT_STREAM, events=CONTEXT_EVENTS)},
        _BAD_KEY | {429: "So many clients with this key watch contexts already."},
        parameters=(_KEY,),
        keyed=True,
    ),
    Route(
        "members",
        lambda pages: pages.contexts.members,
        "GET",
        "/api/shared-context/{key}/presence",
        "List who is present at a shared context",
        "Souls, processes and programs, by name. At the key `souls` each soul shows what it does: `idle`, `thinking`, "
        "`speaking` or `solving`, and in which conversations that all of the workspace may read.",
        {200: Answer("The members.", model=MemberList)},
        _BAD_KEY,
        parameters=(_KEY,),
        keyed=True,
    ),
    Route(
        "be_present",
        lambda pages: pages.contexts.renew,
        "PUT",
        "/api/shared-context/{key}/presence/{member}",
        "Be present at a shared context",
        "The body is the state that others see. It lasts for fifteen seconds: send it again before. With a key "
        "the name is the Slack id of its person, or begins with it and a colon.",
        {200: Answer("The member as others see it.", model=MemberAnswer)},
        {
            404: "The context is not for all of the workspace.",
            409: "A process is present under this name.",
            422: "That can't be a key or a name, or the state is too large.",
        },
        body=MemberState,
        parameters=(_KEY, _MEMBER),
        keyed=True,
    ),
    Route(
        "leave",
        lambda pages: pages.contexts.leave,
        "DELETE",
        "/api/shared-context/{key}/presence/{member}",
        "Be present at a shared context no more",
        "What is not present over HTTP is left alone.",
        {204: Answer("It is not present over HTTP.", "")},
        {422: "That can't be a key or a name."},
        parameters=(_KEY, _MEMBER),
        keyed=True,
    ),
    Route(
        "mcp",
        lambda pages: pages.mcp.answer,
        "POST",
        "/mcp",
        "Use the soul's tools over MCP",
        "The Model Context Protocol by streamable HTTP, one message a request, for sessions of Claude Code and other "
        "clients (docs/MCP.md). No session of the protocol is kept. Takes the key of a person's sessions, too. What is "
        "wrong with a message of the protocol is answered in its own form.",
        {
            200: Answer("The answer, as JSON or as a stream that holds it.", EVENT_STREAM),
            202: Answer("A notification is taken.", ""),
        },
        {406: "The client takes no JSON or no streams."},
        body=McpMessage,
        keyed=True,
    ),
    *PROGRAM_ROUTES,
    Route(
        "health",
        lambda pages: pages.daemon.health,
        "GET",
        "/healthz",
        "Check that the daemon is alive",
        "The process runs and answers.",
        {200: Answer("It is alive.", model=Alive)},
        free=True,
    ),
    Route(
        "readiness",
        lambda pages: pages.daemon.readiness,
        "GET",
        "/readyz",
        "Check that the daemon can work",
        "Ready means that it is connected and its database answers. Otherwise the message says why, without names.",
        {200: Answer("It can work.", model=Alive)},
        {503: "It can't; the message says why."},
        free=True,
    ),
    Route(
        "metrics",
        lambda pages: pages.daemon.metrics,
        "GET",
        "/metrics",
        "Read the metrics",
        "Counters and gauges for Prometheus.",
        {200: Answer("The metrics.", "text/plain")},
    ),
    Route(
        "description",
        lambda pages: pages.daemon.description,
        "GET",
        "/openapi.json",
        "Read this description",
        "OpenAPI 3.1.",
        {200: Answer("The description.")},
        free=True,
    ),
)
