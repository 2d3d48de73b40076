"""What the soul told others in the words of a person who is forgotten is found, and nothing else is."""

import pytest

from daemon.core.contexts import OPERATOR, ContextConflict, Writer
from daemon.core.perception import Audience, AudienceKind, ConversationKey
from daemon.core.ports.services import SystemClock
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.turn_index import store_turns
from daemon.memory.people.erasure import turns_of
from daemon.memory.people.repeated import Repeats, erase_repeats, find_repeats, repeats_since
from daemon.memory.records import Speaks, Turn
from daemon.memory.shared.store import ContextStore
from tests.given import SOUL, TEAM
from tests.store.parts import room

ADA, BEN = "U0ADA", "U0BEN"
EVERYBODY = Audience(AudienceKind.WORKSPACE, TEAM)


class Talks:
    """Turns by the conversation that they stand in; each exchange has a trace of its own."""

    def __init__(self, database: Database) -> None:
        self.database, self._number = database, 0

    async def say(self, where: str, author: str, words: str, reply: str, *, surfaced: str = "") -> int:
        """A message and its reply, to which something may have surfaced; gives the number of the reply's turn."""
        self._number += 1
        key, trace = ConversationKey(SOUL, TEAM, where, "1.0"), f"t{self._number}"
        await room(self.database, key, EVERYBODY)
        said = Turn(Speaks.PERSON, author, author, f"{self._number}.0", words)
        answered = Turn(Speaks.SOUL, SOUL, SOUL, f"{self._number}.0", reply)

        async def unit(transaction: Transaction) -> int:
            if surfaced:
                await transaction.insert("surfaced", trace_id=trace, id=surfaced, mark="1", score=1.0, at_ms=1)
            seqs = await store_turns(
                transaction, [said, answered], conversation=key, audience=EVERYBODY, trace_id=trace, now=1
            )
            return seqs[1]

        return await self.database.write(unit)

    async def found(self) -> Repeats:
        theirs = await self.database.read(lambda transaction: turns_of(transaction, TEAM, ADA))
        return await find_repeats(self.database.rows, TEAM, ADA, theirs)


@pytest.fixture
def talks(database: Database) -> Talks:
    return Talks(database)


async def test_a_reply_to_another_in_the_same_thread_and_one_to_which_it_surfaced_go(talks: Talks) -> None:
    await talks.say("C1", ADA, "I own a quincunx", "fine")
    there = await talks.say("C1", BEN, "what is it?", "A quincunx!")
    elsewhere = await talks.say("C2", BEN, "what does she own?", "The Quincunx.", surfaced="TU_1")
    again = await talks.say("C2", BEN, "say it again", "quincunx")
    afar = await talks.say("C3", BEN, "and now?", "quincunx, as I said", surfaced=f"TL_{again}")
    assert (await talks.found()).turns == {there, elsewhere, again, afar}


async def test_what_is_no_word_of_the_persons_own_stays(talks: Talks) -> None:
    await talks.say("C1", ADA, "I own a quincunx", "fine")
    for where, words, reply in (
        ("C1", "what is it?", "I own nothing"),
        ("C1", "what is it?", "A loom"),
        ("C2", "name five dots", "A quincunx"),  # where the person's words never were
        ("C1", "is it a quincunx?", "A quincunx!"),  # a word of theirs, too
    ):
        await talks.say(where, BEN, words, reply)
        assert (await talks.found()).turns == set(), reply


async def test_what_was_said_while_it_was_looked_for_goes_too(talks: Talks) -> None:
    await talks.say("C1", ADA, "I own a quincunx", "fine")
    found = await talks.found()
    late = await talks.say("C2", BEN, "what does she own?", "A quincunx")
    assert await talks.database.read(lambda transaction: repeats_since(transaction, TEAM, found)) == {late}


async def post(talks: Talks, number: int, where: str, body: str, key: str = "@1#0") -> None:
    conversation = ConversationKey(SOUL, TEAM, where, "1.0")
    await room(talks.database, conversation, EVERYBODY)
    await talks.database.write(
        lambda transaction: transaction.insert(
            "outbox",
            id=f"{conversation}{key}",
            conversation=str(conversation),
            soul=SOUL,
            workspace=TEAM,
            part=0,
            last=1,
            body=body,
            reply_to="",
            recipient=BEN,
            newer_than_ts="1",
            audience=str(EVERYBODY),
            state="sent",
            created_ms=number // 2,
        )
    )


async def test_an_answer_to_why_that_quotes_the_person_is_emptied_wherever_it_went(talks: Talks) -> None:
    await talks.say("C1", ADA, "I own a quincunx", "fine")
    await talks.say("C2", BEN, "what does she own?", "Dots", surfaced="TU_1")
    await post(talks, 1, "C2", "> Dots\n“I own a quincunx” (Ada)")
    await post(talks, 2, "D9", "“I own a quincunx” (Ada)", "!own:C2:2.0#0")
    await post(talks, 3, "C3", "A quincunx is five dots", "@2#0")
    found = await talks.found()
    await post(talks, 4, "C2", "“I own a quincunx” (Ada), once more", "@3#0")
    await talks.database.write(lambda transaction: erase_repeats(transaction, [], found, 9))
    rows = await talks.database.rows("SELECT body FROM outbox ORDER BY seq")
    assert [row["body"] for row in rows] == ["", "", "A quincunx is five dots", ""]


async def test_a_reminder_of_another_stays_without_the_words_of_the_person(talks: Talks) -> None:
    await talks.say("C1", ADA, "I own a quincunx", "fine")
    await talks.say("C1", BEN, "remind me of it", "I will: the quincunx")
    key = ConversationKey(SOUL, TEAM, "C1", "1.0")
    await talks.database.write(
        lambda transaction: transaction.insert(
            "intentions",
            id="i1",
            conversation=str(key),
            soul=SOUL,
            workspace=TEAM,
            slot="reminder-1",
            due_ms=9,
            process="engaged",
            params='{"quincunx": ["Quincunx!", 5]}',
            content="ask about the Quincunx tomorrow",
            behalf=BEN,
            place="thread",
            audience=str(EVERYBODY),
            state="waiting",
            created_ms=1,
        )
    )
    found = await talks.found()
    await talks.database.write(lambda transaction: erase_repeats(transaction, [str(key)], found, 9))
    [row] = await talks.database.rows("SELECT content, params, state FROM intentions")
    assert (row["content"], row["state"]) == ("ask about the … tomorrow", "waiting")
    assert row["params"] == '{"quincunx": ["\\u2026!", 5]}'


async def test_text_that_looks_like_json_loses_the_words_and_what_only_the_daemon_wrote_loses_nothing(
    talks: Talks,
) -> None:
    await talks.say("C1", ADA, "I own a quincunx", "fine")
    key = ConversationKey(SOUL, TEAM, "C1", "1.0")
    row = {"conversation": str(key), "soul": SOUL, "workspace": TEAM, "created_ms": 1}
    plan = row | {"due_ms": 9, "process": "engaged", "behalf": BEN, "place": "thread", "state": "waiting"}
    texts = ('{"quincunx": "call him"}', "[" * 3_000 + " quincunx")

    async def unit(transaction: Transaction) -> None:
        for number, text in enumerate(texts):
            name = f"reminder-{number}"
            more = {"id": name, "slot": name, "params": text, "content": text, "audience": str(EVERYBODY)}
            await transaction.insert("intentions", **plan, **more)
        said = {"body": "It is green, Ben.", "reason": "quincunx", "audience": str(EVERYBODY), "recipient": BEN}
        post = {"id": "o1", "part": 0, "last": 1, "reply_to": "", "newer_than_ts": "1", "state": "pending"}
        await transaction.insert("outbox", **row, **said, **post)

    await talks.database.write(unit)
    found = await talks.found()
    await talks.database.write(lambda transaction: erase_repeats(transaction, [str(key)], found, 9))
    rows = await talks.database.rows("SELECT content, params FROM intentions ORDER BY slot")
    assert [tuple(one) for one in rows] == [
        ('{"…": "call him"}', '{"quincunx": "call him"}'),  # a key of params is the daemon's
        ("[" * 3_000 + " …", "{}"),
    ]
    assert [tuple(one) for one in await talks.database.rows("SELECT body, state FROM outbox")] == [
        ("It is green, Ben.", "pending")
    ]


async def test_who_saw_the_words_of_a_forgotten_person_in_a_context_has_an_old_version(talks: Talks) -> None:
    await talks.say("C1", ADA, "I own a quincunx", "fine")
    contexts, writer = ContextStore(talks.database, SystemClock(), TEAM), Writer(SOUL, EVERYBODY)
    await contexts.write("plan", {"Quincunx": {"of": ["the Quincunx", 5]}}, None, writer)
    seen = await contexts.write("plan", {"Quincunx": {"of": ["the Quincunx", 6]}}, None, writer)
    await contexts.write("besides", {"a": "a Quincunx"}, None, writer)
    await contexts.write("besides", {"a": "no more"}, None, writer)
    found = await talks.found()
    await talks.database.write(lambda transaction: erase_repeats(transaction, [], found, 9))
    now, redacted = await contexts.get("plan"), {"…": {"of": ["the …", 6]}}
    assert (now.version, now.data, now.author, now.updated_ms) == (3, redacted, OPERATOR, 9)
    with pytest.raises(ContextConflict):
        await contexts.write("plan", {"Quincunx": 6}, seen.version, writer)
    kept = [(one.version, one.data, one.redacted) for one in await contexts.history("plan", 9)]
    assert kept == [(3, redacted, False), (2, redacted, True), (1, {"…": {"of": ["the …", 5]}}, True)]
    assert (await contexts.get("besides")).version == 2, "who has the newest version has none of the words"
    kept = [(one.version, one.data, one.redacted) for one in await contexts.history("besides", 9)]
    assert kept == [(2, {"a": "no more"}, False), (1, {"a": "a …"}, True)]
