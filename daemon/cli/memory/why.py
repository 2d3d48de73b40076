"""`soul memory why`: from each sentence of a reply to the memories that bear it, and to their messages."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import click

from daemon.channels.slack.client import SlackClient
from daemon.channels.slack.permalinks import Permalinks
from daemon.cli.database_access import with_database
from daemon.cli.listing import json_of
from daemon.cli.meaning import meaning_of, silent
from daemon.cli.output import say, say_json
from daemon.cli.words import WordsShown, WordsWanted, words_of, words_options
from daemon.core.clock import SystemClock
from daemon.core.config import Settings, load_settings
from daemon.core.errors import StoreError
from daemon.core.text import one_line
from daemon.memory.admin.remembered import readers_at
from daemon.memory.database import Database
from daemon.memory.knowledge.records.ids import turn_seq
from daemon.memory.retrieval.judged import NOT_JUDGED
from daemon.memory.retrieval.reasons import Ear, Explained, Proof, Reasons, WhySaid

_KEYS: Final = ("reply {id, ts}", "sentences [{text, memories [{id, kind, evidence [{id, quote, permalink}]}]}]")
_MOST_LINKS: Final = 50
_SLACK_S: Final = 10.0  # seconds for all addresses; the rest stay empty


@dataclass(frozen=True, slots=True)
class _Asked:
    """The reply that is meant; who would read the answer, and where, empty for the admin."""

    name: str
    person: str
    place: str
    wanted: WordsWanted
    as_json: bool


@dataclass(frozen=True, slots=True)
class _Answer:
    """A reply explained, which words may be printed, and the addresses of messages by the ids of their turns."""

    why: WhySaid
    shown: WordsShown
    addresses: Mapping[str, str]


@click.command("why")
@click.argument("name", metavar="ID|TS")
@click.option("--as", "person", metavar="U…", default="", help="Only what a reply to this user could know …")
@click.option("--place", metavar="C…|D…|G…", default="", help="… in this room.")
@words_options
@json_of(_KEYS)
def why_command(**given: Any) -> None:  # noqa: ANN401  # click gives the options by name
    """Show why the soul said something: what bears each sentence of a reply, by the id of its turn or Slack's ts.

    No model is asked. Where Slack's token is set, Slack is asked for the addresses of messages.

    Texts and quotes are empty without --words, and with it those said in private without --private.
    """
    asked = _Asked(**given)
    if bool(asked.person) != bool(asked.place):
        raise click.UsageError("--as and --place go together: a user, and a room where they would read it")
    settings = load_settings()
    answer = with_database(settings, partial(_explained, settings, asked))
    if asked.as_json:
        say_json(_as_plain(answer))
        return
    _print(answer)


async def _explained(settings: Settings, asked: _Asked, database: Database) -> _Answer:
    async with AsyncExitStack() as stack:
        reasons = Reasons(database, meaning_of(settings, stack))
        ears = None
        if asked.person:
            find = partial(readers_at, soul=settings.name, person=asked.person, place=asked.place)
            ears = [Ear(*await database.read(find))]
        why = await reasons.why(await _reply(settings, reasons, asked.name), ears)
        if why is None:
            raise StoreError(f"the soul never said {asked.name}", hint="`soul queue outbox list` shows what it posted")
        reasons_given = [reason for sentence in why.sentences for reason in sentence.reasons]
        worded = {why.id, *(one.id for reason in reasons_given for one in reason.evidence)}
        worded |= set() if asked.as_json else {reason.id for reason in reasons_given}
        shown = await words_of(database, asked.wanted, "memory why", sorted(worded))
        return _Answer(why, shown, await _addresses(settings, _proofs(why)))


async def _reply(settings: Settings, reasons: Reasons, name: str) -> str:
    """The id of the reply that is meant, which may be none."""
    if turn_seq(name) is not None:
        return name
    found = [await reasons.reply_posted(soul, name) for soul in (settings.name, *settings.souls)]
    return next(filter(None, found), "")


async def _addresses(settings: Settings, proofs: Sequence[Proof]) -> Mapping[str, str]:
    """The addresses of messages, by the ids of their turns; empty where no token is set or Slack doesn't answer."""
    if settings.slack_bot_token is None or not proofs:
        return {}
    found: dict[str, str] = {}
    client = SlackClient(settings, SystemClock(), silent)
    permalinks = Permalinks(client, SystemClock())
    try:
        async with asyncio.timeout(_SLACK_S):
            for one in proofs[:_MOST_LINKS]:
                found[one.id] = await permalinks.of(one.conversation.channel, one.ts)
    except TimeoutError:
        pass  # those that were found are shown
    finally:
        await client.close()
    return found


def _proofs(why: WhySaid) -> list[Proof]:
    """The messages that prove anything, each once."""
    evidence = [one for sentence in why.sentences for reason in sentence.reasons for one in reason.evidence]
    return list({one.id: one for one in evidence}.values())


def _as_plain(answer: _Answer) -> dict[str, object]:
    why, shown = answer.why, answer.shown
    return {
        "reply": {"id": why.id, "ts": why.ts},
        "sentences": [
            {
                "text": shown.of(why.id, sentence.text),
                "memories": [
                    {
                        "id": reason.id,
                        "kind": reason.kind,
                        "evidence": [
                            {
                                "id": one.id,
                                "quote": shown.of(one.id, one.quote),
                                "permalink": answer.addresses.get(one.id, ""),
                            }
                            for one in reason.evidence
                        ],
                    }
                    for reason in sentence.reasons
                ],
            }
            for sentence in why.sentences
        ],
    }


def _print(answer: _Answer) -> None:
    why = answer.why
    say(f"{why.id} {why.ts}".rstrip())
    for number, sentence in enumerate(why.sentences, 1):
        say(f"\n{number}. {one_line(answer.shown.of(why.id, sentence.text))}".rstrip())
        for line in _lines(answer, sentence) or ["nothing that is remembered"]:
            say(f"   {line}")
    if why.gone:
        say(f"\n{why.gone} of the memories that it had are gone since: forgotten, or corrected.")
    answer.shown.say_what_is_missing()


def _lines(answer: _Answer, sentence: Explained) -> list[str]:
    """What bears a sentence, one thing a line; what proves a memory, further in below it."""
    shown, lines = answer.shown, list[str]()
    for reason in sentence.reasons:
        lines.append(f"{reason.id} {reason.kind} {shown.of(reason.id, one_line(reason.text))}".rstrip())
        if reason.judged != NOT_JUDGED:
            lines.append(f"  people on replies that had it: good {reason.judged.good}, bad {reason.judged.bad}")
        for one in reason.evidence:
            quote = one_line(shown.of(one.id, one.quote))
            lines.append("  " + " ".join(filter(None, (one.id, quote, answer.addresses.get(one.id, "")))))
    lines += [f"a source that it names: {shown.of(answer.why.id, one)}".rstrip(": ") for one in sentence.sources]
    lines += ["something that these readers may not know"] if sentence.hidden else []
    return [*lines, *(["something that is gone since"] if sentence.gone else [])]
