"""Visits are kept as episodes: opened by words, closed by a silence or the next visit, inherited, forgotten."""

import json

import pytest

from daemon.core.perception import Audience
from daemon.memory.knowledge.records.kinds import Core, Trust
from daemon.memory.knowledge.records.links import Link, Relation
from daemon.memory.knowledge.records.store import put
from tests.given import shown, tagged
from tests.journeys.house import House
from tests.journeys.learning import will_learn
from tests.journeys.silences import DORMANT, END, HOUR, MINUTE, fallen
from tests.journeys.souls import write_soul
from tests.journeys.visits import EPISODES, JOURNAL, report, speak, visit


def closings(house: House) -> int:
    return [prompt.step for prompt in house.prompts].count("close_episode")


async def test_a_visit_is_opened_by_the_first_words_and_closed_by_the_silence_with_one_call(house: House) -> None:
    await house.answered("Ada", "dm", "hello")
    [open_] = await house.rows(EPISODES)
    assert (open_["state"], open_["audience"], open_["text"]) == ("open", "dm:D0ADA", "")
    await visit(house, "Which valve for pump two?")
    [closed] = await house.rows(EPISODES)
    assert (closed["state"], closed["text"], closed["significance"]) == (
        "closed",
        "Ada and the soul chose the north valve for pump two.",
        6,
    )
    assert json.loads(closed["summary"])["future_implication"] == "The north valve has to be ordered."
    assert json.loads(closed["workflow"])["pending_items"] == ["ask Ben for the price"]
    situation = json.loads(closed["situation"])
    assert situation["domain_area"] == "dm"
    links = await house.rows("SELECT target FROM links WHERE origin = ? AND relation = 'turn_refs'", closed["id"])
    assert len(links) == 4
    assert closings(house) == 1
    [entry] = await house.rows(JOURNAL)
    assert (entry["text"], entry["audience"]) == ("She laughed at last; hold on to the plain figures.", "dm:D0ADA")
    await visit(house, "Which valve?", said=report(future_implication="Everybody gets a holiday."))
    summary = json.loads((await house.rows(EPISODES))[-1]["summary"])
    assert (summary["key_outcome"], summary["future_implication"]) == ("The north valve was chosen.", "")
    assert closings(house) == 2
    await house.events.until("episode.implication_refused")


async def test_a_visit_in_which_nothing_was_learned_is_closed_without_a_call(house: House) -> None:
    await house.answered("Ada", "dm", "hello")
    calls = len(house.prompts)
    house.clock.turn(DORMANT)
    await fallen(house, 1)
    house.clock.turn(END)
    await fallen(house, 2)
    [closed] = await house.rows(EPISODES)
    assert (closed["state"], len(house.prompts)) == ("closed", calls)
    assert await house.rows(JOURNAL) == []


async def test_the_next_visit_inherits_what_was_left_in_that_audience_alone(house: House) -> None:
    await visit(house, "Which valve for pump two?")
    await house.answered("Ada", "dm", "good morning")
    assert "ask Ben for the price" in house.last_prompt()
    assert "hold on to the plain figures" in house.last_prompt()
    first, second = await house.rows(EPISODES)
    assert second["event_id"] == first["id"]
    assert json.loads(second["workflow"]) == json.loads(first["workflow"])
    await house.answered("Ben", "dm", "good morning")
    assert "hold on" not in house.last_prompt()
    assert "ask Ben" not in house.last_prompt()
    await house.answered("Ada", "general", "@soul good morning")
    assert "hold on" not in house.last_prompt()
    assert "ask Ben" not in house.last_prompt()
    audiences = {(row["channel"], row["audience"]) for row in await house.rows(EPISODES)}
    assert audiences == {("D0ADA", "dm:D0ADA"), ("D0BEN", "dm:D0BEN"), ("C0GENERAL", "workspace:T0LOCAL")}, (
        "words for other readers never join an episode"
    )


async def test_the_next_visit_or_the_sweep_ends_the_one_before_where_no_silence_did(empty_house: House) -> None:
    write_soul(empty_house.settings.home, more='processes = ["greeting", "curious", "engaged"]\n')
    await empty_house.start(name="tess")
    await speak(empty_house, "Which valve?")
    empty_house.clock.turn(5 * HOUR)
    empty_house.model.steps["close_episode"].append(report())
    await empty_house.answered("Ada", "dm", "I am back")
    first, second = await empty_house.rows(EPISODES)
    assert (first["state"], second["state"]) == ("closed", "open")
    assert json.loads(second["workflow"])["current_task"] == "order the valve"
    assert json.loads(second["situation"])["mission_goal"] == "order the valve"
    empty_house.clock.turn(5 * HOUR)
    await empty_house.row(f"SELECT 1 FROM ({EPISODES}) WHERE id = ? AND state = 'closed'", second["id"])


@pytest.mark.slow
async def test_a_deleted_message_takes_the_words_of_its_visit_and_what_was_made_of_them(house: House) -> None:
    await house.answered("Ada", "dm", "hello")
    ts = await visit(house, "Which valve for pump two?")
    await house.answered("Ada", "dm", "good morning")
    await house.people.delete("Ada", "dm", ts)
    await house.no_row(f"SELECT 1 FROM ({EPISODES}) WHERE text <> ''")
    first, second = await house.rows(EPISODES)
    assert first["state"] == "closing"
    assert "valve" not in "".join(map(str, tuple(first)))
    assert "valve" not in "".join(map(str, tuple(second)))
    assert await house.rows(JOURNAL) == []
    house.model.steps["close_episode"].append(report(content="Ada said hello.", pending_items=[], current_task=""))
    house.clock.turn(HOUR)
    await house.row(f"SELECT 1 FROM ({EPISODES}) WHERE id = ? AND state = 'closed'", first["id"])


async def test_an_edited_message_stays_in_its_visit_which_is_made_anew_from_its_new_words(house: House) -> None:
    ts = await visit(house, "Which valve for pump two?")
    [before] = await house.rows(EPISODES)
    house.model.steps["close_episode"].append(report(content="Ada asked for the gate.", future_implication=""))
    await house.people.edit("Ada", "dm", ts, "Which gate for the second dam?")
    await house.row(f"SELECT 1 FROM ({EPISODES}) WHERE id = ? AND text = ''", before["id"])
    links = await house.rows("SELECT * FROM links WHERE origin = ? AND relation = 'turn_refs'", before["id"])
    assert len(links) == 2
    assert await house.rows(JOURNAL) == []
    house.clock.turn(HOUR)
    await house.row(f"SELECT 1 FROM ({EPISODES}) WHERE id = ? AND text = 'Ada asked for the gate.'", before["id"])
    closing = [prompt for prompt in house.prompts if prompt.step == "close_episode"][-1]
    assert "Which gate for the second dam?" in shown(closing)
    assert "Which valve" not in shown(closing)


@pytest.mark.slow
async def test_what_a_visit_tells_of_itself_costs_no_call(house: House) -> None:
    await house.answered("Ada", "dm", "hello")
    will_learn(house.model, "looks after pump two", quote="I look after pump two")
    house.model.replies.append(tagged("I see.", learned=True, heard='salience_anchor="pump two"'))
    await house.answered("Ada", "dm", "I look after pump two")
    await house.events.until("person.modelled")
    await visit(house, "Which valve?")
    await house.answered("Ada", "dm", "good morning")
    closed, open_ = await house.rows(EPISODES)
    assert (closed["person"], json.loads(closed["cues"])) == ("U0ADA", ["pump two"])
    assert json.loads(closed["state_snapshot"])["emotional_state"] == "neutral"
    assert json.loads(closed["situation"])["mission_goal"] == "order the valve"
    assert json.loads(open_["situation"])["mission_goal"] == "order the valve"
    facts = await house.rows("SELECT * FROM links WHERE relation = 'episode_refs' AND target = ?", closed["id"])
    assert len(facts) == 1


@pytest.mark.slow
async def test_while_paused_no_visit_is_kept_and_what_was_said_is_in_no_table_once_it_ended(house: House) -> None:
    await visit(house, "Which valve for pump two?")
    await speak(house, "I'll ask Ben.")
    assert (await house.answered("Ada", "dm", "pause remembering")).startswith("Paused:")
    _, before = await house.rows(EPISODES)
    said = await house.rows("SELECT * FROM links WHERE origin = ?", before["id"])
    await speak(house, "My word is quincunx.")
    assert "hold on to the plain figures" not in shown([one for one in house.prompts if one.step == "respond"][-1])
    assert "quincunx" in await everything(house)
    assert await house.rows("SELECT * FROM links WHERE origin = ?", before["id"]) == said
    house.clock.turn(END + MINUTE)
    await erased(house, "quincunx")
    await house.idle()
    await speak(house, "Another word is quagga.")
    assert len(await house.rows(EPISODES)) == 2
    house.clock.turn(END + MINUTE)
    await erased(house, "quagga")
    assert closings(house) == 1, "the visit that was open before the pause is looked through when remembering goes on"
    house.model.steps["close_episode"].append(report(content="Ada goes to Ben."))
    await house.answered("Ada", "dm", "resume remembering")
    house.clock.turn(HOUR)
    await house.row(f"SELECT 1 FROM ({EPISODES}) WHERE text = 'Ada goes to Ben.'")
    assert "quincunx" not in shown([one for one in house.prompts if one.step == "close_episode"][-1])


async def erased(house: House, word: str) -> None:
    """Wait until no table holds the word."""

    async def gone() -> bool:
        return word not in await everything(house)

    await house.when(gone)


async def everything(house: House) -> str:
    """Every value of every table."""
    tables = await house.rows("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'")
    rows = [row for table in tables for row in await house.rows(f'SELECT * FROM "{table["name"]}"')]
    return "\n".join(str(value) for row in rows for value in tuple(row)).casefold()


@pytest.mark.slow
async def test_visits_and_what_was_made_of_them_go_after_their_days_though_nothing_ran_meanwhile(house: House) -> None:
    await visit(house, "Which valve for pump two?")
    now = house.clock.now_ms()
    [closed] = await house.rows(EPISODES)
    place = {name: closed[name] for name in ("soul", "workspace", "channel")}
    audience = Audience.parse(closed["audience"])
    core = Core(**place, audience=audience, text="Valves.", at_ms=now, trust=Trust.INFERRED, state="closed")
    links = [Link("", Relation.SOURCES, closed["id"])]
    await house.built.store.database.write(lambda transaction: put(transaction, core, now, links))
    await house.stop()
    house.clock.turn(7 * 24 * HOUR)
    await house.start(episode_days=6)
    await house.no_row("SELECT * FROM records WHERE kind IN ('episode', 'core')")
    assert await house.rows(JOURNAL) == [], "it was made of the visit"
    assert await house.rows("SELECT * FROM turns WHERE speaker = 'person'") != []
    assert await house.rows("SELECT * FROM links WHERE relation IN ('turn_refs', 'sources')") == []
