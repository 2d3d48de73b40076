"""`soul memory why`, from each sentence of a reply to its memories and their messages; and `episodes`."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import click

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.links import Permalinks
from daemon.cli.listing import (
    RowListing,
    WordsShown,
    WordsWanted,
    ago,
    json_of,
    meaning_of,
    say,
    say_json,
    silent,
    with_database,
    words_of,
    words_options,
)
from daemon.cli.options import limit_option, state_option
from daemon.core.config import Settings, load_settings
from daemon.core.errors import StoreError
from daemon.core.ports.services import SystemClock
from daemon.core.text import one_line
from daemon.memory.admin.remembered import KINDS, KeptEpisode, kept_episodes, readers_at
from daemon.memory.database import Database
from daemon.memory.knowledge.records.kinds import RecordKind
from daemon.memory.knowledge.records.links import turn_seq
from daemon.memory.retrieval.reasons import Ear, Explained, Proof, Reasons, WhySaid
from daemon.memory.retrieval.rows import NOT_JUDGED

_KEYS: Final = ("reply {id, ts}", "sentences [{text, memories [{id, kind, evidence [{id, quote, permalink}]}]}]")
_MOST_LINKS: Final = 50
_SLACK_S: Final = 10.0  # seconds for all addresses; the rest stay empty


@dataclass(frozen=True, slots=True)
class _Asked:
    """The question about a reply. `person` and `place` are the reader of the answer; empty for the admin."""

    name: str
    person: str
    place: str
    wanted: WordsWanted
    as_json: bool


@dataclass(frozen=True, slots=True)
class _Answer:
    """The explanation of a reply, the words that may be printed, and the addresses of messages by turn id."""

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
    if turn_seq(name) is not None:
        return name
    found = [await reasons.reply_posted(soul, name) for soul in (settings.name, *settings.souls)]
    return next(filter(None, found), "")


async def _addresses(settings: Settings, proofs: Sequence[Proof]) -> Mapping[str, str]:
    """Return the addresses of messages, by turn id. Empty if no token is set or Slack doesn't answer."""
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
    """Return the support of a sentence, one memory a line, and its evidence indented below."""
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


_EPISODES_KEYS: Final = (
    *("id", "kind", "state", "audience", "channel", "conversation", "person", "persona_id", "event_id", "visit"),
    *("at_ms", "closed_ms", "significance"),
    "situation {interaction_mode, stakes_level, time_pressure, location_context, domain_area, agent_role}",
    *("turns", "sources", "facts", "senses", "completed", "pending", "made_into", "text", "mission_goal"),
    *("summary {content, action_taken, key_outcome, future_implication}",),
    *("workflow {current_task, completed_items, pending_items}", "tags", "cues"),
)

_EPISODES: Final = RowListing[KeptEpisode](
    *(_EPISODES_KEYS, ("ID", "episode.id"), ("STATE", "episode.state"), ("AUDIENCE", "episode.audience")),
    *(ago("episode.at_ms", "SINCE"), "turns", "sources", "facts", "senses"),
    *(("PENDING", lambda one, _: len(one.episode.workflow.pending_items)), ("MADE INTO", "made_into")),
)


@click.command("episodes")
@limit_option("visits, cores and spheres, the newest first")
@click.option("--kind", type=click.Choice([str(one) for one in KINDS]), help="Only this kind.")
@state_option("those", ["open", "closing", "closed", "distilled"])
@words_options
@_EPISODES.option
def episodes_command(limit: int, kind: str | None, state: str | None, wanted: WordsWanted, as_json: bool) -> None:
    """Show the visits that are kept; a core is made of eight visits, a sphere of eight cores.

    Those from text on are empty without --words, and those of direct messages and private rooms without --private.
    """
    settings = load_settings()
    only = RecordKind(kind) if kind else None

    async def read(database: Database) -> tuple[tuple[KeptEpisode, ...], WordsShown]:
        found = await database.read(partial(kept_episodes, soul=settings.name, limit=limit, kind=only, state=state))
        ids = [one.episode.id for one in found if one.has_words]
        return found, await words_of(database, wanted, "memory episodes", ids)

    found, shown = with_database(settings, read)
    words = ("WORDS", lambda one, _: shown.of(one.episode.id, one.episode.text))
    if _EPISODES.show(found, as_json=as_json, plain=lambda one: _episodes_as_plain(one, shown), more=[words]):
        shown.say_what_is_missing()


def _episodes_as_plain(one: KeptEpisode, shown: WordsShown) -> dict[str, object]:
    episode = one.episode
    situation, summary, workflow = episode.situation, episode.summary, episode.workflow

    def word(text: str) -> str:
        return shown.of(episode.id, text)

    def words(texts: tuple[str, ...]) -> list[str]:
        return [text for text in texts if word(text)]

    worded: dict[str, Any] = {
        "text": word(episode.text),
        "mission_goal": word(situation.mission_goal),
        "summary": {
            "content": word(summary.content),
            "action_taken": word(summary.action_taken),
            "key_outcome": word(summary.key_outcome),
            "future_implication": word(summary.future_implication),
        },
        "workflow": {
            "current_task": word(workflow.current_task),
            "completed_items": words(workflow.completed_items),
            "pending_items": words(workflow.pending_items),
        },
        "tags": words(episode.tags),
        "cues": words(episode.cues),
    }
    return {
        "id": episode.id,
        "kind": episode.kind,
        "state": episode.state,
        "audience": str(episode.audience),
        "channel": episode.channel,
        "conversation": episode.conversation,
        "person": episode.person,
        "persona_id": episode.persona_id,
        "event_id": episode.event_id,
        "visit": episode.visit,
        "at_ms": episode.at_ms,
        "closed_ms": episode.closed_ms,
        "significance": episode.significance,
        "situation": {
            "interaction_mode": situation.interaction_mode,
            "stakes_level": situation.stakes_level,
            "time_pressure": situation.time_pressure,
            "location_context": situation.location_context,
            "domain_area": situation.domain_area,
            "agent_role": situation.agent_role,
        },
        "turns": one.turns,
        "sources": one.sources,
        "facts": one.facts,
        "senses": one.senses,
        "completed": len(workflow.completed_items),
        "pending": len(workflow.pending_items),
        "made_into": one.made_into,
        **worded,
    }
