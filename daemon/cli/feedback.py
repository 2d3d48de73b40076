"""`soul queue feedback`: what people said of replies."""

from functools import partial

import click

from daemon.cli.database_access import with_database
from daemon.cli.options import json_option, limit_option
from daemon.cli.output import age, show_rows
from daemon.core.config import load_settings
from daemon.core.text import one_line, shortened
from daemon.memory.admin.judged_replies import JudgedReply, list_feedback

_SHOWN = 60  # characters of what was wrong, and of the reply


@click.command("feedback")
@limit_option("words on replies, newest first")
@click.option("--bad", "bad_only", is_flag=True, help="Only of replies that were called bad.")
@json_option
def command(limit: int, bad_only: bool, as_json: bool) -> None:
    """Show which replies people called good or bad, and what they said was wrong.

    \b
    JSON keys: key, soul, conversation, author, value, how, why, given_ms, reply, memories. `how` is button or
    reaction; `memories` are the ids of what had surfaced to the reply, for which the word counts.
    """
    found = with_database(load_settings(), partial(list_feedback, limit=limit, bad_only=bad_only))
    show_rows(
        found,
        ("GIVEN", "VALUE", "BY", "PERSON", "SOUL", "MEMORIES", "WHAT WAS WRONG", "REPLY"),
        _columns,
        as_json=as_json,
    )


def _columns(one: JudgedReply, now: int) -> tuple[str, ...]:
    why, reply = (shortened(one_line(text), _SHOWN) for text in (one.why, one.reply))
    return (
        f"{age(now, one.given_ms)} ago",
        one.value,
        one.how,
        one.author,
        one.soul,
        str(len(one.memories)),
        why or "-",
        reply,
    )
