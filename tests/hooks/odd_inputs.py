"""What the hook script may be handed: by no client that is in order, and by some that are."""

import json
from collections.abc import Iterator
from random import Random


def odd_inputs(number: int, draw: Random) -> Iterator[bytes]:
    """Inputs that no client should send, and some that one may."""
    names = ("SessionStart", "UserPromptSubmit", "Stop", "Notification", "SessionEnd", "\u0000", "", "Future")
    odd: tuple[object, ...] = (0, -1, 10**400, None, True, [], {}, [[[]]], {"a": {}})
    values = (*odd, "", "x", "\ud800", "\x00", "é" * 9_000)
    whole = json.dumps({"session_id": "s1", "hook_event_name": "SessionStart", "cwd": "/"}).encode()
    for one in range(number):
        match one % 5:
            case 0:
                yield whole[: draw.randrange(len(whole))]
            case 1:
                torn = bytearray(whole)
                torn[draw.randrange(len(torn))] = draw.randrange(256)
                yield bytes(torn)
            case 2:
                fields = ("session_id", "hook_event_name", "cwd", "source", "model", "reason", "session_title", "odd")
                yield json.dumps({name: draw.choice(values) for name in fields}).encode()
            case 3:
                yield draw.choice((b"[" * 10_000, b'{"a":' * 5_000, b"NaN", b"\xff" * 99, b"null", b"[]", b"7", b""))
            case _:
                folder = draw.choice(("/proc/self", "/nowhere", "relative", "/\x00", "/" + "a/" * 2_000, "\n"))
                session, name = draw.choice(("s1", "../x", "")), draw.choice(names)
                yield json.dumps({"session_id": session, "hook_event_name": name, "cwd": folder}).encode()
