"""What a model reads from a request is bounded: it stands in the person's own words, or nothing is waited for."""

import asyncio
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from daemon.core.perception import ConversationKey, Readers
from daemon.core.topics import LONGEST_TOPIC, stands_in
from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.memory.queues.cues import LONGEST_MS, MOST_FIRES, Cue
from daemon.mind.mental_process import ProcessContext
from daemon.mind.steps.intend import ReminderRequest
from daemon.mind.waiting_for import NotWaitable, cue_of
from tests.given import perception
from tests.unit.solving_parts import scene

NOW_MS = 1_800_000_000_000
ASKER = "U1"
KNOWN = {"ben": ("U2",), "eve": ("U3", "U4"), "ada": (ASKER,)}


async def _named(name: str, where: ConversationKey, readers: Readers) -> tuple[str, ...]:
    return KNOWN.get(name.lower(), ())


def context(said: str, *, paused: bool = False) -> ProcessContext:
    known = scene().having(people_named=_named, paused=paused).context
    memory = WorkingMemory("Tess").with_memory(Memory(Role.USER, said, metadata={"source": ASKER}))
    return replace(known, memory=memory, perception=perception(source=ASKER))


def read(said: str, *, paused: bool = False, **request: object) -> Cue | str:
    asked = ReminderRequest(what="x", **request)  # type: ignore[arg-type]  # any field
    try:
        return asyncio.run(cue_of(context(said, paused=paused), asked, NOW_MS))
    except NotWaitable as why:
        return str(why)


KNOWN_WORDS = [
    *("the release", "Ben", "eve", "Ada", "<@U9>", "<@U1>", "that"),
    *("2 days", "1m", "in 3 days", "P1D", "999999999 weeks"),
]
HOSTILE = st.text(max_size=60) | st.sampled_from(KNOWN_WORDS)


@given(said=HOSTILE, about=HOSTILE, who=HOSTILE, silence=HOSTILE, until=HOSTILE, times=st.integers(-(10**9), 10**9))
def test_whatever_a_model_reads_is_bounded_and_stands_in_their_words(  # noqa: PLR0917 - one for each field
    said: str, about: str, who: str, silence: str, until: str, times: int
) -> None:
    cue = read(said, about=about, who=who, silence=silence, until=until, times=times)
    if isinstance(cue, str):
        assert not any(text in cue for text in (said, about, who, silence, until) if len(text) > 12), (
            "it quotes nothing"
        )
        return
    assert NOW_MS < cue.until_ms <= NOW_MS + LONGEST_MS
    assert 1 <= cue.fires <= MOST_FIRES
    assert cue.person != ASKER
    assert len(cue.topic) <= LONGEST_TOPIC
    assert cue.silence_ms or cue.topic or cue.person
    if cue.topic:
        assert stands_in(cue.topic, [said])
    cue.first_due(NOW_MS)


def test_a_person_is_known_by_mention_or_by_a_name_that_is_one_persons() -> None:
    ben = read("tell me when Ben is back", who="Ben")
    assert isinstance(ben, Cue)
    assert ben.person == "U2"
    mentioned = read("tell me when <@U9> is back", who="Zoe")
    assert isinstance(mentioned, Cue)
    assert mentioned.person == "U9"
    assert "several people" in str(read("tell me when Eve is back", who="Eve"))
    assert "no one here" in str(read("tell me when she is back", who="Ben")), "a name that they didn't say"
    assert "their own words" in str(read("tell me when Ada is back", who="Ada"))
    assert "paused" in str(read("tell me when Ben is back", who="Ben", paused=True))
