"""`soul memory why`, from each sentence of a reply to its memories and their messages; and `episodes`."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, Final

import click

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.links import Permalinks
from daemon.cli.listing import Here, ago, lists, say, shows, silent
from daemon.cli.memory import meaning_of
from daemon.cli.options import limit_option, state_option
from daemon.cli.words import Hidden, plain
from daemon.core.config import Settings
from daemon.core.errors import StoreError
from daemon.core.ports.services import SystemClock
from daemon.core.text import one_line
from daemon.memory.admin.remembered import KINDS, KeptEpisode, kept_episodes, readers_at
from daemon.memory.knowledge.records.kinds import RecordKind
from daemon.memory.knowledge.records.links import turn_seq
from daemon.memory.records import Row
from daemon.memory.retrieval.reasons import Ear, Explained, Proof, Reason, Reasons, WhySaid
from daemon.memory.retrieval.rows import NOT_JUDGED

_REASON: Final = "id, kind, text, judged, evidence [{id, quote, permalink}]"
_MOST_LINKS: Final = 50
_SLACK_S: Final = 10.0  # seconds for all addresses; the rest stay empty


def _print_reasons(found: Row) -> None:
    reply = found["reply"]
    say(f"{reply['id']} {reply['ts']}".rstrip())
    for number, sentence in enumerate(found["sentences"], 1):
        say(f"\n{number}. {one_line(sentence['text'])}".rstrip())
        for line in _lines(sentence) or ["nothing that is remembered"]:
            say(f"   {line}")
    if found["gone"]:
        say(f"\n{found['gone']} of the memories that it had are gone since: forgotten, or corrected.")


def _lines(sentence: Row) -> list[str]:
    """Return the support of a sentence, one memory a line, and its evidence indented below."""
    lines = list[str]()
    for reason in sentence["memories"]:
        lines.append(f"{reason['id']} {reason['kind']} {one_line(reason['text'])}".rstrip())
        if judged := reason["judged"]:
            lines.append(f"  people on replies that had it: good {judged['good']}, bad {judged['bad']}")
        for one in reason["evidence"]:
            lines.append("  " + " ".join(filter(None, (one["id"], one_line(one["quote"]), one["permalink"]))))
    lines += [f"a source that it names: {one}".rstrip(": ") for one in sentence["sources"]]
    lines += ["something that these readers may not know"] if sentence["hidden"] else []
    return [*lines, *(["something that is gone since"] if sentence["gone"] else [])]


@click.command("why")
@click.argument("name", metavar="ID|TS")
@click.option("--as", "person", metavar="U…", default="", help="Only what a reply to this user could know …")
@click.option("--place", metavar="C…|D…|G…", default="", help="… in this room.")
@shows(
    (
        "reply {id, ts}",
        f"sentences [{{text, memories [{{{_REASON}}}], sources, hidden, gone}}]",
        "gone",
    ),
    _print_reasons,
    words=True,
)
async def why_command(here: Here, name: str, person: str, place: str) -> Row:
    """Show why the soul said something: what bears each sentence of a reply, by the id of its turn or Slack's ts.

    No model is asked. Where Slack's token is set, Slack is asked for the addresses of messages.

    Texts and quotes are empty without --words, and with it those said in private without --private.
    """
    if bool(person) != bool(place):
        raise click.UsageError("--as and --place go together: a user, and a room where they would read it")
    async with AsyncExitStack() as stack:
        reasons, ears = Reasons(here.database, meaning_of(here.settings, stack)), None
        if person:
            find = partial(readers_at, soul=here.settings.name, person=person, place=place)
            ears = [Ear(*await here.database.read(find))]
        why = await reasons.why(await _reply(here.settings, reasons, name), ears)
        if why is None:
            raise StoreError(f"the soul never said {name}", hint="`soul queue outbox list` shows what it posted")
        addresses = await _addresses(here.settings, _proofs(why))
    sentences = [_sentence(why, one, addresses) for one in why.sentences]
    return {"reply": {"id": why.id, "ts": why.ts}, "sentences": sentences, "gone": why.gone}


def _sentence(why: WhySaid, sentence: Explained, addresses: Mapping[str, str]) -> Row:
    return {
        "text": Hidden(why.id, sentence.text),
        "memories": [_reason(one, addresses) for one in sentence.reasons],
        "sources": [Hidden(why.id, one) for one in sentence.sources],
        "hidden": sentence.hidden,
        "gone": sentence.gone,
    }


def _reason(reason: Reason, addresses: Mapping[str, str]) -> Row:
    return {
        "id": reason.id,
        "kind": reason.kind,
        "text": Hidden(reason.id, reason.text),
        "judged": None if reason.judged == NOT_JUDGED else plain(reason.judged),
        "evidence": [
            {"id": one.id, "quote": Hidden(one.id, one.quote), "permalink": addresses.get(one.id, "")}
            for one in reason.evidence
        ],
    }


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


_FOLDED: Final = ("interaction_mode", "stakes_level", "time_pressure", "location_context", "domain_area", "agent_role")
_EPISODE: Final = (
    *("id", "kind", "state", "audience", "channel", "conversation", "person", "persona_id", "event_id", "visit"),
    *("at_ms", "closed_ms", "significance", f"situation {{{', '.join(_FOLDED)}}}"),
    *("turns", "sources", "facts", "senses", "completed", "pending", "made_into", "text", "mission_goal"),
    *("summary {content, action_taken, key_outcome, future_implication}",),
    *("workflow {current_task, completed_items, pending_items}", "tags", "cues"),
)


@click.command("episodes")
@limit_option("visits, cores and spheres, the newest first")
@click.option("--kind", type=click.Choice([str(one) for one in KINDS]), help="Only this kind.")
@state_option("those", ["open", "closing", "closed", "distilled"])
@lists(
    *(_EPISODE, "id state audience", ago("at_ms", "SINCE"), "turns sources facts senses pending"),
    *(("MADE INTO", "made_into"), "WORDS=text"),
    words=True,
)
async def episodes_command(here: Here, limit: int, kind: str | None, state: str | None) -> list[Row]:
    """Show the visits that are kept; a core is made of eight visits, a sphere of eight cores.

    Those from text on are empty without --words, and those of direct messages and private rooms without --private.
    """
    only = RecordKind(kind) if kind else None
    find = partial(kept_episodes, soul=here.settings.name, limit=limit, kind=only, state=state)
    return [_episode(one) for one in await here.database.read(find)]


def _episode(one: KeptEpisode) -> Row:
    episode: dict[str, Any] = plain(one.episode)
    situation, workflow = episode["situation"], episode["workflow"]
    name = one.episode.id

    def words(texts: Sequence[str]) -> Hidden:
        return Hidden(name, texts, [])

    return {
        **episode,
        "kind": one.episode.kind,
        **{key: getattr(one, key) for key in ("turns", "sources", "facts", "senses", "made_into")},
        "situation": {key: situation[key] for key in _FOLDED},
        "completed": len(workflow["completed_items"]),
        "pending": len(workflow["pending_items"]),
        "text": Hidden(name, one.episode.text),
        "mission_goal": Hidden(name, situation["mission_goal"]),
        "summary": {key: Hidden(name, text) for key, text in episode["summary"].items()},
        "workflow": {
            "current_task": Hidden(name, workflow["current_task"]),
            **{key: words(workflow[key]) for key in ("completed_items", "pending_items")},
        },
        "tags": words(episode["tags"]),
        "cues": words(episode["cues"]),
    }
