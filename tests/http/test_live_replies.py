"""Replies in progress and their readers: order, restarts, and bounds that hold for slow readers."""

from hypothesis import given
from hypothesis import strategies as st

from daemon.channels.http.stream import LiveDraft, LiveReplies, ReplyReader
from daemon.core.perception import ConversationKey
from daemon.core.ports.services import Task, TaskState

HERE = ConversationKey("minoan", "T1", "http", "here")
THERE = ConversationKey("minoan", "T1", "http", "there")


def _task(number: int, state: TaskState = TaskState.PENDING) -> Task:
    return Task(f"t{number}", "Look it up", state)


def test_a_reader_gets_only_replies_to_its_own_message_in_its_own_conversation() -> None:
    live = LiveReplies()
    with live.reader(HERE, "2.0") as reader, live.reader(HERE, "2.0"):
        assert live.reader_count == 2
        for where, ts in ((THERE, "2.0"), (HERE, "1.0")):
            live.begin(where, ts)
            live.say(where, "to another")
            live.show(where, _task(1))
        live.end(THERE)
        assert not reader.changed.is_set()
    assert live.reader_count == 0
    assert not live._readers


def test_a_late_reader_gets_the_draft_so_far_and_text_before_the_beginning_and_after_the_end_is_dropped() -> None:
    live = LiveReplies()
    live.begin(HERE, "1.0")
    live.say(HERE, "Hello ")
    live.show(HERE, _task(1))
    with live.reader(HERE, "1.0") as reader:
        live.say(HERE, "there")
        update = reader.take()
        assert (update.restarted, update.text, update.tasks) == (True, "Hello there", (_task(1),))
        assert reader.take().text == ""
    live = LiveReplies()
    with live.reader(HERE, "1.0") as reader:
        live.say(HERE, "too early")
        live.begin(HERE, "1.0")
        live.end(HERE)
        live.say(HERE, "too late")
        live.show(HERE, _task(1))
        update = reader.take()
        assert (update.text, update.tasks) == ("", ())


def test_only_the_newest_state_of_a_task_is_kept_and_the_number_of_tasks_is_capped() -> None:
    live = LiveReplies()
    with live.reader(HERE, "1.0") as early:
        live.begin(HERE, "1.0")
        live.show(HERE, _task(1))
        live.show(HERE, _task(1, TaskState.COMPLETE))
        assert early.take().tasks == (_task(1, TaskState.COMPLETE),)
        for number in range(1000):
            live.show(HERE, _task(number))
        with live.reader(HERE, "1.0") as late:
            assert len(early.take().tasks) == len(late.take().tasks) == 64


@given(pieces=st.lists(st.text(min_size=1, max_size=30_000), max_size=20), taking=st.lists(st.booleans(), max_size=20))
def test_a_slow_reader_gets_a_bounded_beginning_of_the_reply(pieces: list[str], taking: list[bool]) -> None:
    reader, read = ReplyReader(1.0), ""
    for piece, takes in zip(pieces, [*taking, *[False] * len(pieces)], strict=False):
        reader.add_text(piece)
        assert sum(map(len, reader.pieces)) < 65_536 + 30_000
        read += reader.take().text if takes else ""
    assert "".join(pieces).startswith(read + reader.take().text)


def test_after_a_gap_a_reader_gets_text_again_when_the_reply_restarts() -> None:
    reader = ReplyReader(1.0)
    reader.add_text("x" * 70_000)
    reader.add_text("lost")
    assert len(reader.take().text) == 70_000
    reader.add_text("still lost")
    assert reader.take().text == ""
    reader.restart(LiveDraft(1.0))
    reader.add_text("again")
    update = reader.take()
    assert (update.restarted, update.text) == (True, "again")
