"""Replies on their way to readers: order, beginnings anew, and bounds that no slow reader can move."""

from hypothesis import given
from hypothesis import strategies as st

from daemon.channels.http.live_replies import Ear, Hub
from daemon.core.perception import ConversationKey
from daemon.core.ports import Task, TaskState

HERE = ConversationKey("minoan", "T1", "http", "here")
THERE = ConversationKey("minoan", "T1", "http", "there")


def _task(number: int, state: TaskState = TaskState.PENDING) -> Task:
    return Task(f"t{number}", "Look it up", state)


def test_an_ear_hears_its_own_conversation_alone() -> None:
    hub = Hub()
    with hub.listen(HERE, "1.0") as ear:
        hub.begin(THERE, "1.0")
        hub.say(THERE, "not for you")
        hub.end(THERE)
        assert not ear.news.is_set()


def test_a_reply_to_an_earlier_message_is_not_told_to_the_later_one() -> None:
    hub = Hub()
    with hub.listen(HERE, "2.0") as ear:
        hub.begin(HERE, "1.0")
        hub.say(HERE, "to the first")
        hub.show(HERE, _task(1))
        assert not ear.news.is_set()


def test_who_comes_later_hears_what_was_said_before() -> None:
    hub = Hub()
    hub.begin(HERE, "1.0")
    hub.say(HERE, "Hello ")
    hub.show(HERE, _task(1))
    with hub.listen(HERE, "1.0") as ear:
        hub.say(HERE, "there")
        heard = ear.take()
        assert (heard.anew, heard.text, heard.tasks) == (True, "Hello there", (_task(1),))
        assert ear.take().text == ""


def test_nothing_is_said_where_nothing_was_begun_or_after_the_end() -> None:
    hub = Hub()
    with hub.listen(HERE, "1.0") as ear:
        hub.say(HERE, "too early")
        hub.begin(HERE, "1.0")
        hub.end(HERE)
        hub.say(HERE, "too late")
        hub.show(HERE, _task(1))
        heard = ear.take()
        assert (heard.text, heard.tasks) == ("", ())


def test_a_task_is_told_as_it_stands_now() -> None:
    hub = Hub()
    with hub.listen(HERE, "1.0") as ear:
        hub.begin(HERE, "1.0")
        hub.show(HERE, _task(1))
        hub.show(HERE, _task(1, TaskState.COMPLETE))
        assert ear.take().tasks == (_task(1, TaskState.COMPLETE),)


def test_tasks_without_end_are_bounded() -> None:
    hub = Hub()
    with hub.listen(HERE, "1.0") as early:
        hub.begin(HERE, "1.0")
        for number in range(1000):
            hub.show(HERE, _task(number))
        with hub.listen(HERE, "1.0") as late:
            assert len(early.take().tasks) == len(late.take().tasks) == 64


def test_nobody_is_left_listening() -> None:
    hub = Hub()
    with hub.listen(HERE, "1.0"), hub.listen(HERE, "1.0"):
        assert hub.listening == 2
    assert hub.listening == 0
    assert not hub._ears


@given(pieces=st.lists(st.text(min_size=1, max_size=30_000), max_size=20), taking=st.lists(st.booleans(), max_size=20))
def test_whoever_reads_however_slowly_gets_a_bounded_beginning_of_the_reply(
    pieces: list[str], taking: list[bool]
) -> None:
    ear, heard = Ear(1.0), ""
    for piece, takes in zip(pieces, [*taking, *[False] * len(pieces)], strict=False):
        ear.hear(piece)
        assert sum(map(len, ear._pieces)) < 65_536 + 30_000
        heard += ear.take().text if takes else ""
    assert "".join(pieces).startswith(heard + ear.take().text)


def test_after_a_hole_the_ear_hears_again_when_the_reply_begins_anew() -> None:
    ear = Ear(1.0)
    ear.hear("x" * 70_000)
    ear.hear("lost")
    assert len(ear.take().text) == 70_000
    ear.hear("still lost")
    assert ear.take().text == ""
    ear.begin()
    ear.hear("found")
    heard = ear.take()
    assert (heard.anew, heard.text) == (True, "found")
