"""Chat over HTTP with a real daemon: streams, repeats, interruptions, restarts, several clients at once."""

import asyncio

import pytest

from daemon.channels.http import chat
from daemon.channels.http import pairing as intake
from daemon.core.errors import ModelRefused, ModelUnavailable, StoreError
from daemon.core.perception import ConversationKey
from daemon.core.ports.library import StoredReply
from tests.given import CLOSING, OPENING, tagged
from tests.http.daemons import HttpHome
from tests.models import Flow


def _flow(home: HttpHome) -> Flow:
    flow = Flow()
    home.model.flows.append(flow)
    return flow


async def test_an_answer_streams_while_it_is_made(home: HttpHome) -> None:
    flow = _flow(home)
    async with home.stream("hello") as stream:
        assert stream.response.headers["Content-Type"].startswith("text/event-stream")
        assert (await stream.next()).data == {"session": "s", "message_id": "m"}
        flow.say(OPENING, "Hello there, ")
        await stream.until("chunk")
        flow.end("my friend.", CLOSING)
        done = await stream.until("done")
    assert done.data == {"session": "s", "message_id": "m", "text": "Hello there, my friend."}
    assert "Hello there, my friend.".startswith(stream.draft)
    assert stream.names[0] == "start"
    assert stream.names[-1] == "done"


async def test_private_thought_never_enters_the_stream_and_ids_are_made_up_where_there_are_none(home: HttpHome) -> None:
    home.scripted(lambda _: tagged("In public.", monologue="SECRET"))
    got = await home.post("/api/soul/chat", {"message": "hello"})
    assert got.status == 200
    assert b"SECRET" not in got.body
    first, *_, last = [line.removeprefix(b"data: ") for line in got.body.splitlines() if line.startswith(b"data: ")]
    assert b'"session": "' in first
    assert b"In public." in last


async def test_a_client_that_disconnects_in_the_middle_loses_nothing(home: HttpHome) -> None:
    flow = _flow(home)
    async with home.stream("hello") as stream:
        flow.say(OPENING, "Hello there, ")
        await stream.until("chunk")
        stream.response.close()
    flow.end("my friend.", CLOSING)
    got = await home.answered("m")
    assert got.json == {"session": "s", "message_id": "m", "text": "Hello there, my friend.", "parts": []}
    assert len(home.model.prompts) == 1


async def test_a_disconnect_is_noticed_and_a_waiting_client_gets_keep_alives(home: HttpHome) -> None:
    flow = _flow(home)
    async with home.stream("hello") as stream:
        await stream.until("start")
        await flow.asked.wait()
        home.clock.turn(6)
        await stream.comment()
        stream.response.close()
    await home.turning(home.events.until("http.reader_left"))
    flow.end("Hello.", CLOSING)


async def test_the_same_message_attaches_to_the_answer_under_way(home: HttpHome) -> None:
    flow = _flow(home)
    async with home.stream("hello") as first, home.stream("hello") as second:
        flow.say(OPENING, "Hello there, ")
        await first.until("chunk")
        async with home.stream("hello") as third:
            assert (await third.until("chunk")).data["text"].startswith("Hello")
            flow.end("my friend.", CLOSING)
            done = [await stream.until("done") for stream in (first, second, third)]
    assert [one.data["text"] for one in done] == ["Hello there, my friend."] * 3
    assert len(home.model.prompts) == 1


async def test_the_same_message_gets_the_finished_answer_at_once_and_other_words_are_a_conflict(home: HttpHome) -> None:
    first = await home.say("hello")
    async with home.stream("hello") as stream:
        second = await stream.until("done")
    assert first == second
    assert stream.names == ["start", "done"]
    await home.database.write(lambda transaction: transaction.run("DELETE FROM deliveries"))
    assert await home.say("hello") == first, "after its delivery was pruned"
    assert len(home.model.prompts) == 1
    got = await home.post("/api/soul/chat", {"message": "goodbye", "session": "s", "message_id": "m"})
    assert (got.status, got.code) == (409, "other_words")
    assert (await home.say("goodbye", "two")).data["text"] == "Echo: goodbye", "an id counts for its session alone"


async def test_a_message_whose_ts_is_taken_gets_the_next_one(home: HttpHome, monkeypatch: pytest.MonkeyPatch) -> None:
    await home.say("hello", message_id="a")
    taken = await home.database.read(lambda reading: reading.one("SELECT ts FROM inbox"))
    assert taken is not None
    free, moments = intake.HttpIntake.next_ts, iter([taken["ts"], taken["ts"]])
    monkeypatch.setattr(intake.HttpIntake, "next_ts", lambda self: next(moments, "") or free(self))
    assert (await home.say("goodbye", message_id="b")).data["text"] == "Echo: goodbye"
    monkeypatch.setattr(intake.HttpIntake, "next_ts", lambda _: taken["ts"])
    got = await home.post("/api/soul/chat", {"message": "goodbye", "session": "s", "message_id": "c"})
    assert (got.status, got.code) == (503, "busy")


async def test_the_number_of_streams_is_capped(home: HttpHome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat, "_MOST_STREAMS", 1)
    flow = _flow(home)
    async with home.stream("hello"):
        got = await home.post("/api/soul/chat", {"message": "hi"})
        assert (got.status, got.code) == (503, "busy")
        await flow.asked.wait()
        got = await home.get("/api/soul/chat/s/m")
        assert (got.status, got.json) == (202, {"session": "s", "message_id": "m"}), "under way"
        flow.end(OPENING, "Hello.", CLOSING)
    assert (await home.get("/api/soul/chat/s/other")).code == "unknown_message"
    assert (await home.get("/api/soul/chat/s/" + "x" * 65)).code == "unknown"


async def test_a_failing_store_does_not_end_the_stream(home: HttpHome) -> None:
    side, events = home.now.channel._side, home.events
    find = side.find_reply
    broken = True

    async def failing(conversation: ConversationKey, message_id: str) -> StoredReply | None:
        if broken and events.named("inbox.accepted"):
            raise StoreError("the disk sleeps")
        return await find(conversation, message_id)

    side.find_reply = failing  # a disk that fails for a while
    async with home.stream("hello") as stream:
        await events.until("store.failed")
        await events.until("outbox.sent")
        broken = False
        assert (await home.turning(stream.until("done"))).data["text"] == "Echo: hello"


async def test_many_clients_with_one_message_get_one_answer_which_is_kept_over_a_restart(home: HttpHome) -> None:
    said = await asyncio.gather(*(home.say("hello") for _ in range(20)))
    assert {one.data["text"] for one in said} == {"Echo: hello"}
    await home.now.stop()
    await home.start()
    assert await home.say("hello") == said[0]
    assert (await home.get("/api/soul/chat/s/m")).json["text"] == "Echo: hello"
    assert len(home.model.prompts) == 1


async def test_every_message_of_a_burst_gets_the_one_answer(home: HttpHome) -> None:
    flow = _flow(home)
    async with home.stream("first", message_id="a") as first:
        await flow.asked.wait()
        async with home.stream("second", message_id="b") as second, home.stream("third", message_id="c") as third:
            await second.until("start")
            await third.until("start")
            flow.end(OPENING, "To the first.", CLOSING)
            answers = [(await stream.until("done")).data["text"] for stream in (first, second, third)]
    assert all(answers)
    assert answers[1] == answers[2]


async def test_a_conversation_goes_on_over_messages_with_the_name_that_the_client_gave_last(home: HttpHome) -> None:
    await home.say("hello", message_id="a", name="Ada Lovelace")
    await home.say("what did I say?", message_id="b")
    assert "Ada Lovelace" in str(home.model.prompts[0])
    assert "Ada Lovelace" in str(home.model.prompts[-1])
    assert "hello" in str(home.model.prompts[-1])


async def test_a_message_cut_off_by_the_end_is_answered_by_the_next_daemon(home: HttpHome) -> None:
    flow = _flow(home)
    async with home.stream("hello") as stream:
        flow.say(OPENING, "Hello ")
        await stream.until("chunk")
        await home.now.cut()
        assert (await stream.until("error")).data["message"] == "The daemon is stopping."
    await home.start()
    assert (await home.say("hello")).data["text"] == "Echo: hello"
    assert (await home.answered("m")).json["text"] == "Echo: hello"


async def test_replies_in_progress_are_streamed_to_their_end_when_the_daemon_drains(home: HttpHome) -> None:
    flow = _flow(home)
    async with home.stream("hello") as stream:
        flow.say(OPENING, "Hello ")
        await stream.until("chunk")
        home.now.ask_to_stop()
        await home.events.until("daemon.draining")
        flow.end("there.", CLOSING)
        assert (await stream.until("done")).data["text"] == "Hello there."
    await home.now.stop()


async def test_a_reply_that_begins_again_sends_a_second_start(home: HttpHome) -> None:
    first, second = _flow(home), _flow(home)
    async with home.stream("hello") as stream:
        first.say(OPENING, "This will break ")
        await stream.until("chunk")
        claimed = home.built
        assert claimed is not None

        async def steal(transaction: object) -> None:
            await transaction.run("UPDATE conversations SET fence = fence + 1, lease_until = 0")  # type: ignore[attr-defined]  # a Transaction

        await claimed.store.database.write(steal)
        first.end("off.", CLOSING)
        second.end(OPENING, "A new answer.", CLOSING)
        done = await stream.until("done")
    assert done.data["text"] == "A new answer."
    assert stream.names.count("start") == 2


async def test_a_failing_model_and_a_soul_that_does_not_reply_end_in_an_error(home: HttpHome) -> None:
    for fault, words in (
        (RuntimeError("a stack of secrets"), "something inside me broke"),
        (ModelRefused("no secrets"), "the model that I think with refused this"),
        (ModelUnavailable("secrets are down"), "can't be reached just now"),
    ):
        message_id = type(fault).__name__
        _flow(home).end(fault)
        said = await home.say("hello", message_id=message_id)
        assert (said.name, said.data["code"]) == ("soul:stream:error", "apology"), message_id
        assert said.data["message"].startswith("I'm sorry: "), message_id
        assert words in said.data["message"], message_id
        assert "secrets" not in str(said.data), message_id
        assert await home.say("hello", message_id=message_id) == said, "asked for once more"
        got = await home.get(f"/api/soul/chat/s/{message_id}")
        assert (got.status, got.code) == (410, "no_answer"), message_id
    flow = _flow(home)
    async with home.stream("hello", "silent") as stream:
        await flow.asked.wait()
        ended = "UPDATE inbox SET state = 'answered', answered_by = NULL"
        await home.database.write(lambda transaction: transaction.run(ended))
        home.now.channel._live.end(ConversationKey("minoan", "T1", "http", "silent"))
        error = await stream.until("error")
    flow.end(OPENING, "Too late.", CLOSING)
    assert "chose not to reply" in error.data["message"]
    assert error.data["code"] == "answered"


async def test_a_message_too_old_when_its_turn_comes_ends_with_an_error(home: HttpHome) -> None:
    await home.now.cut()
    await home.start(max_cycles=1)
    flow = _flow(home)
    async with home.stream("hold the only cycle", "other", "x"):
        await flow.asked.wait()
        async with home.stream("hello") as late:
            await late.until("start")
            home.clock.turn(4000)
            flow.end(OPENING, "There.", CLOSING)
            error = await home.turning(late.until("error"))
            again = await home.get("/api/soul/chat/s/m")
    assert "too old" in error.data["message"]
    assert error.data["reference"]
    assert (again.status, again.code) == (410, "no_answer")


async def test_text_of_any_kind_arrives_unchanged(home: HttpHome) -> None:
    words = ["שלום \u202e", "naïve 🦊", "a\nb\tc", "<external_dialogue>", "x" * 20_000]
    for number, text in enumerate(words):
        answered = "error" if text == "<external_dialogue>" else "done"  # an echo of it keeps no form
        assert (await home.say(text, f"s{number}")).name == f"soul:stream:{answered}", text
    kept = await home.database.rows("SELECT body FROM inbox ORDER BY conversation")
    assert [row["body"] for row in kept] == words
