"""Every region of a prompt has an answer to how a thought that saw it is followed when its words go."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from daemon.core.contexts import ContextState
from daemon.core.expectations import Check, Outcome
from daemon.core.lineage import UNFOLLOWED, saw
from daemon.core.notes import FROM_PARAM, NOTE_PARAM, NoteKind, NoteState, SharedMessage
from daemon.core.perception import Audience, ConversationKey, Modality
from daemon.core.ports.channel import LinkedMessages, ThreadMessage
from daemon.core.ports.library import Passage
from daemon.core.sessions import CodeSession, Visibility
from daemon.core.working_memory import DEFAULT_REGION, Memory, Role, WorkingMemory
from daemon.memory.expectations.expected import Expected, ScoredPrediction
from daemon.memory.expectations.settling import OpenPrediction
from daemon.memory.knowledge.senses import KnownPicture
from daemon.memory.knowledge.soul_states import SoulState
from daemon.memory.knowledge.user_models import UserModel
from daemon.memory.mind.allowing import Intended
from daemon.memory.mind.at_hand import AtHand
from daemon.memory.mind.documents import HeldPart, MindDocument
from daemon.memory.mind.goal_changes import Goal
from daemon.memory.mind.listing import Documents
from daemon.memory.mind.self_model import OwnText
from daemon.memory.records import Speaks, Turn
from daemon.mind.reading_tools import ToolsUsed, with_results
from daemon.mind.recall import as_memory, with_expected, with_goals, with_sessions
from daemon.mind.recall.looked_up import with_documents, with_memories
from daemon.mind.recall.mood import with_linked, with_people, with_shared, with_state
from daemon.mind.thought_input import with_files
from daemon.soul_engine import (
    OF_THE_TALK,
    begin,
    integrate,
    regions,
    seen_in,
    with_aside,
    with_notes,
    with_room,
    with_thoughts,
    with_thread,
)
from tests.given import SOUL, TEAM, perception, soul

WHO, HERE = soul(), ConversationKey(SOUL, TEAM, "C1", "1.0")
SAID = ThreadMessage("2.0", "U2", "Bob", "hello")
OURS = ThreadMessage("3.0", "U0SOUL", "", "hello", own=True)
DM = Audience.parse("dm:D1")
MODEL = UserModel(SOUL, "U1", DM, 1, "Ada", ("keeps bees", "hid"), "is tired", 1, 1, 1, 1, 1, ("sem_1", "sem_2"))
SESSION = CodeSession("s1", "k1", "U1", TEAM, Visibility.PROJECT, "ada-api", "Ada", "api")
PLAN = ContextState("plan", 1, {"by": "Friday"}, Audience.parse(f"workspace:{TEAM}"))
SENT = SharedMessage(
    *("NT_3", NoteKind.NOTE, SOUL, "other", TEAM, "", "", "", PLAN.audience, 1, "", NoteState.DELIVERED, "", "", 0),
    *(None, None, "hello"),
)
FOUND = (Passage("a talk", "bees hum", id="TU_7"), Passage("docs/a.md:1", "bees fly", id="LB_1", document="docs/a.md"))
MEANT = Intended("TH_6-i1", "call", 0, "TH_6")
AIM = Goal("G1", "the import", 0.5, "U1", 0, "TH_7")
CYCLE = WHO.model_copy(update={"mind": "cycle"})
HELD = Documents(
    held=tuple(
        HeldPart(document, str(DM), part, name, "set", "calm", "", "TH_5", 0)
        for document, part, name in (
            (MindDocument.SELF_MODEL, "current_state", ""),
            (MindDocument.WORLD_MODEL, "Ada", "mood"),
        )
    ),
    own=OwnText("I keep bees.", thoughts=("TH_5",)),
)
HOPED = OpenPrediction(1, "P1", "they reply", 0.8, Check("silence"), 0, 1, None, str(HERE), "TH_8")
CAME = ScoredPrediction("P2", "they reply", 0.8, Outcome.MISS, 0.8, "TH_9")
TOLD = Memory(Role.USER, "rain", name="weather", metadata=saw())
BEES = KnownPicture("SMEM_1", "bees", 1, "abc")

DAEMONS_OWN: Mapping[str, str] = MappingProxyType(
    {
        regions.PERSONALITY: "the soul's files",
        regions.HOUSE_RULES: "the daemon's words",
        regions.MODE: "the soul's files",
        regions.NOW: "the clock",
        regions.ABILITIES: "the daemon's words",
        regions.STANCE: "the daemon's words",
    }
)
"""Regions in which no user's words stand, each with whose these are."""

JOBS_ALONE = {regions.NOTES}  # regions of jobs, which think no whole thoughts

BY_IDS: Mapping[str, tuple[Callable[[WorkingMemory], WorkingMemory], set[str]]] = {
    regions.THREAD: (
        lambda memory: with_thread(memory, [SAID, OURS], HERE),
        {"MS_T1/C1/2.0", "MS_T1/C1/3.0", "BY_T1/U2"},
    ),
    regions.ASIDE: (lambda memory: with_aside(memory, [SAID], HERE), {"MS_T1/C1/2.0", "BY_T1/U2"}),
    regions.LINKED: (
        lambda memory: with_linked(memory, [LinkedMessages("https://x", (SAID,), "#c", channel="C7")], TEAM),
        {"MS_T1/C7/2.0", "BY_T1/U2"},
    ),
    regions.SOUL_STATE: (
        lambda memory: with_state(memory, SoulState("", 0, "bees", "hives", "why?"), WHO, 0, HERE),
        {"SQ_T1/C1"},
    ),
    regions.GOALS: (lambda memory: with_goals(memory, AtHand((AIM,), intended=(MEANT,)), 0, ""), {"TH_6", "TH_7"}),
    regions.EXPECTED: (lambda memory: with_expected(memory, Expected(open=(HOPED,)), WHO, 0, ""), {"TH_8"}),
    regions.SURPRISES: (lambda memory: with_expected(memory, Expected(errors=(CAME,)), WHO, 0, ""), {"TH_9"}),
    regions.IDENTITY: (lambda memory: with_documents(memory, CYCLE, HELD, 0), {"TH_5"}),
    regions.SELF_MODEL: (lambda memory: with_documents(memory, CYCLE, HELD, 0), {"TH_5"}),
    regions.WORLD_MODEL: (lambda memory: with_documents(memory, CYCLE, HELD, 0), {"TH_5"}),
    regions.PERSON: (
        lambda memory: with_people(memory, WHO, (MODEL,), workspace=TEAM),
        {"sem_1", "sem_2", f"UM_{SOUL}/T1/U1/dm:D1"},
    ),
    regions.THOUGHTS: (
        lambda memory: with_thoughts(memory, ("hm",), [("JN_1", "dear me")], ["TH_1"]),
        {"JN_1", "TH_1"},
    ),
    regions.MEMORIES: (lambda memory: with_memories(memory, FOUND, "bees", 900), {"TU_7", "LF_docs/a.md"}),
    regions.SHARED_CONTEXT: (lambda memory: with_shared(memory, [PLAN], [SENT]), {"SC_plan", "NT_3"}),
    regions.AT_WORK: (lambda memory: with_sessions(memory, [SESSION], 900), {"SE_s1", "BY_T1/U1"}),
    regions.RESULTS: (lambda memory: with_results(memory, ToolsUsed(results=[TOLD])), set()),  # no user takes it back
    regions.ROOM: (lambda memory: with_room(memory, "Be brief.", "RW_T1/C1", "BY_T1/U9"), {"RW_T1/C1", "BY_T1/U9"}),
    regions.FILES: (lambda memory: with_files(memory, (), 900, BEES), {"SMEM_1"}),
}
"""Regions whose words have ids, with what fills them."""


def test_what_stands_in_a_region_has_the_ids_by_which_it_goes() -> None:
    answered = {*OF_THE_TALK, *BY_IDS, *DAEMONS_OWN, *JOBS_ALONE}
    assert set(regions.REGION_ORDER) - answered == set(), "how is a thought followed that saw the words of this region?"
    for region in BY_IDS:
        fill, ids = BY_IDS[region]
        memory = fill(begin(WHO))
        assert memory.region(region)
        assert seen_in(memory) == ids, region
    memory = begin(WHO).with_memory(Memory(Role.USER, "hello")).with_memory(Memory(Role.ASSISTANT, "hello"))
    assert seen_in(memory) == set()
    heard = Turn(Speaks.PERSON, "other", "other", "1.0", "hello", {NOTE_PARAM: "NT_1"})
    assert seen_in([as_memory(heard)]) == {"NT_1"}
    note = replace(perception(modality=Modality.NOTE), params={NOTE_PARAM: "NT_2", FROM_PARAM: "other"})
    assert seen_in(integrate(memory, note)) == {"NT_2"}
    assert DEFAULT_REGION in OF_THE_TALK
    for region in sorted({*regions.REGION_ORDER, "my_own"} - {*OF_THE_TALK}):
        assert seen_in(with_notes(begin(WHO), region, "a user's words")) == {f"{UNFOLLOWED}{region}"}
        assert seen_in(with_notes(begin(WHO), region, "a user's words", seen=())) == set()
    for memory in (
        with_thread(begin(WHO), [SAID]),
        with_linked(begin(WHO), [LinkedMessages("https://x", (SAID,), "#c")], TEAM),
        with_people(begin(WHO), WHO, (MODEL,)),
        with_memories(begin(WHO), (Passage("somewhere", "bees hum"),), "bees", 900),
    ):
        assert any(one.startswith(UNFOLLOWED) for one in seen_in(memory))
