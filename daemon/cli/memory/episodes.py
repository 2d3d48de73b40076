"""`soul memory episodes`: the visits that are kept, and what was distilled of them."""

from functools import partial
from typing import Any, Final

import click

from daemon.cli.database_access import with_database
from daemon.cli.listing import RowListing, ago
from daemon.cli.options import limit_option, state_option
from daemon.cli.words import WordsShown, WordsWanted, words_of, words_options
from daemon.core.config import load_settings
from daemon.memory.admin.remembered_episodes import KINDS, KeptEpisode, kept_episodes
from daemon.memory.database import Database
from daemon.memory.knowledge.records.kinds import RecordKind

_KEYS: Final = (
    *("id", "kind", "state", "audience", "channel", "conversation", "person", "persona_id", "event_id", "visit"),
    *("at_ms", "closed_ms", "significance"),
    "situation {interaction_mode, stakes_level, time_pressure, location_context, domain_area, agent_role}",
    *("turns", "sources", "facts", "senses", "completed", "pending", "made_into", "text", "mission_goal"),
    *("summary {content, action_taken, key_outcome, future_implication}",),
    *("workflow {current_task, completed_items, pending_items}", "tags", "cues"),
)

_EPISODES: Final = RowListing[KeptEpisode](
    *(_KEYS, ("ID", "episode.id"), ("STATE", "episode.state"), ("AUDIENCE", "episode.audience")),
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
    if _EPISODES.show(found, as_json=as_json, plain=lambda one: _as_plain(one, shown), more=[words]):
        shown.say_what_is_missing()


def _as_plain(one: KeptEpisode, shown: WordsShown) -> dict[str, object]:
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
