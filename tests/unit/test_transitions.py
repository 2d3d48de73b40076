"""The table of entries, and what may be followed from where: wishes in an answer."""

from msgspec.structs import replace

from daemon.core.errors import ModelUnavailable
from daemon.core.expectations import Limits
from daemon.core.perception import Modality
from daemon.core.phrases import Phrase
from daemon.core.sessions import CodeSession, Visibility
from daemon.memory.records import ProcessState
from daemon.mind.process import SPOKEN, Intent, ProcessContext
from daemon.mind.recall.visit import Visit
from daemon.mind.transitions import (
    HANDED_OVER,
    TABLE,
    Lead,
    Situation,
    confirmed,
    follow,
    may_leave_a_mode,
    meaning_of,
    offered,
    opening_process,
    situation_of,
    why_refused,
)
from daemon.processes.wishes import WISHES
from daemon.soul import Contact, Mode
from daemon.soul_engine import integrate
from tests.given import soul
from tests.unit.playing import WORDS, Play, stay
from tests.unit.process_parts import current_cycle
from tests.unit.thinking import END, Head, Script, head

SOUL = soul().model_copy(
    update={
        "modes": (Mode(name="academic", personality="Scholarly."), Mode(name="poetic", personality="Singing.")),
        "contacts": (Contact(name="Ben", slack="U0BEN", can="grants access"),),
    }
)
BARE = soul()
TALKING = Visit(number=1, exchanges=1, met=True)
FIRST = Visit(number=1, met=False, fresh=True)
BACK = Visit(number=2, met=True, fresh=True)
LIMITS = Limits(loops=1, tokens=1, usd=1.0, seconds=1.0)
BY_WORD = {wish.word: wish for wish in WISHES}


def situation(visit: Visit = TALKING, *, bare: bool = False, autonomous: bool = True) -> Situation:
    return Situation(visit, BARE if bare else SOUL, autonomous=autonomous)


def test_an_entry_needs_what_its_process_needs() -> None:
    for target, visit, may in (
        ("greeting", FIRST, True),
        ("greeting", BACK, False),
        ("greeting", replace(FIRST, exchanges=1), False),
        ("returning", BACK, True),
        ("returning", FIRST, False),
        ("returning", replace(BACK, exchanges=1), False),
        ("returning", replace(BACK, fresh=False), False),
        ("engaged", TALKING, True),
        ("dormant", TALKING, True),
        ("exiting", TALKING, True),
    ):
        assert (why_refused("engaged", target, situation(visit=visit)) == "") is may
    for visit, opening in ((FIRST, "greeting"), (BACK, "returning"), (TALKING, ""), (replace(BACK, number=1), "")):
        begun = opening_process("engaged", situation(visit=visit))
        assert (begun[0] if begun else "") == opening, visit
    for exchanges, may in ((0, True), (3, True), (4, False)):
        reason = why_refused("greeting", "curious", situation(visit=replace(TALKING, exchanges=exchanges)))
        assert (reason == "") is may, exchanges
    for target in ("academic", "poetic", "problem_solving"):
        assert why_refused("engaged", target, situation()) == ""
        assert why_refused("engaged", target, situation(bare=True, autonomous=False))
    apart = replace(situation(), soul=SOUL.model_copy(update={"processes": ("engaged",)}))
    assert "takes no part" in why_refused("engaged", "poetic", apart)
    assert "no process" in why_refused("engaged", "sleeping", situation())
    for target in TABLE:
        expected = target in ("exiting", "attending", "reflecting")
        assert (why_refused("dormant", target, situation(visit=FIRST)) == "") is expected
        assert (why_refused("exiting", target, situation(visit=FIRST)) == "") is (target in ("attending", "reflecting"))


async def put_nowhere(asked: Phrase) -> tuple[str, None]:
    return f"There is no {asked.name}.", None


async def context_of(words: str, *scripts: Script, process: str = "engaged") -> tuple[ProcessContext, Head]:
    """The context of a process that may follow every wish, with a model that plays these scripts."""
    play = Play({"engaged": stay})
    await play.perceive()
    thinking, perception = head(*scripts), replace(WORDS, content=words)
    context = replace(
        play.ran[0],
        memory=integrate(play.ran[0].memory, perception),
        perception=perception,
        mind=thinking.mind,
        soul=SOUL,
        visit=TALKING,
        cycle=replace(current_cycle(LIMITS), at_work=(SESSION,), put_to_session=put_nowhere),
        state=ProcessState(process),
    )
    return context, thinking


CARRIED_OUT = ("reminder", "remember", "own_memory", "who_works")
"""Led to from every state, which goes on."""

SESSION = CodeSession("s1", "k1", "U0ADA", "T1", Visibility.PROJECT, "ada-api")


async def test_each_state_follows_its_own_wishes() -> None:
    for process, followed in (
        ("engaged", {*CARRIED_OUT, "session", "poem", "person", "scholarship", "research"}),
        ("greeting", {*CARRIED_OUT, "session", "poem", "person", "scholarship", "research"}),
        ("academic", {*CARRIED_OUT, "session", "poem", "person", "research", "other_matters"}),
        ("poetic", {*CARRIED_OUT, "session", "person", "scholarship", "research", "other_matters"}),
        ("ready", {*CARRIED_OUT, "session", "poem", "scholarship", "research"}),
    ):
        lead = Lead((await context_of("hello", process=process))[0])
        assert {
            word for word in (*BY_WORD, "nothing", "", "Poem", "dormant", "exiting") if lead.leads(word)
        } == followed, process
    context, _ = await context_of("hello")
    assert [wish.word for wish in offered(context)] == list(BY_WORD)
    for process in SPOKEN:
        for visit in (FIRST, BACK, TALKING):
            assert offered(replace(context, state=ProcessState(process), visit=visit)) == offered(context)
    without_loop = replace(context, cycle=current_cycle())
    lacking = {"research", "who_works", "session"}
    assert [wish.word for wish in offered(without_loop)] == [word for word in BY_WORD if word not in lacking]
    bare = replace(without_loop, soul=BARE)
    assert "poem" not in Lead(bare).meanings
    assert "other_matters" not in Lead(bare).meanings
    assert "reminder" in Lead(bare).meanings
    one_state = SOUL.model_copy(update={"processes": ("engaged",)})
    assert list(Lead(replace(context, soul=one_state)).meanings) == [*CARRIED_OUT]
    context, _ = await context_of("hello")
    stop = Intent("stop", "they want you to stop", "they want it to stop", to="engaged", origins=frozenset({"ready"}))
    more = replace(context, cycle=replace(context.cycle, wishes=(*WISHES, stop)))
    assert "stop" in Lead(more).meanings
    assert not Lead(more).leads("stop")
    assert Lead(replace(more, state=ProcessState("ready"))).leads("stop")
    hints = ("Ugarit", "\u0634\u0639\u0631", "\U0001f3fa", "c++ (.*", "x" * 300, "y" * 300, "z" * 300)
    mode = Mode(name="academic", personality="Scholarly.", hints=hints, triggers=("They ask of kilns.",))
    who = SOUL.model_copy(update={"modes": (mode,)})
    meaning = meaning_of(BY_WORD["scholarship"], who)
    assert "So also: They ask of kilns." in meaning
    assert "Ugarit, \u0634\u0639\u0631, \U0001f3fa, c++ (.*." in meaning, "what doesn't fit is left out"
    assert len(meaning) < 1_000
    assert meaning_of(BY_WORD["scholarship"], BARE) == f"{BY_WORD['scholarship'].meaning}."


async def test_sessions_are_no_matter_where_there_are_none_or_none_may_be_asked() -> None:
    context, _ = await context_of("hello")
    for cycle, words in (
        (replace(context.cycle, put_to_session=None), {"who_works"}),
        (replace(context.cycle, at_work=(), put_to_session=None), set()),
    ):
        elsewhere = replace(context, cycle=cycle)
        assert {"who_works", "session"} & set(Lead(elsewhere).meanings) == words
        assert not Lead(elsewhere).leads("session")
        assert "no session" in why_refused("engaged", "liaising", situation_of(elsewhere))
    context, _ = await context_of("find out")
    assert situation_of(context).autonomous
    assert not situation_of(replace(context, cycle=current_cycle())).autonomous


async def test_a_message_is_led_once_only_a_message_calls_for_anything_and_no_wish_is_followed_twice() -> None:
    context, _ = await context_of("hello")
    follow(context, BY_WORD["poem"])
    assert not Lead(context).leads("scholarship")
    assert Lead(context).leads("reminder")
    context.followed.append(BY_WORD["reminder"])
    assert not Lead(context).leads("reminder")
    context, _ = await context_of("hello")
    fallen_due = replace(context, perception=replace(context.perception, modality=Modality.TIME))
    assert not any(map(Lead(fallen_due).leads, BY_WORD))
    note = replace(context, perception=replace(context.perception, modality=Modality.NOTE))
    assert {word for word in BY_WORD if Lead(note).leads(word)} <= {"research"}, "a note may be looked into"


async def test_a_statement_is_confirmed_by_the_model_alone() -> None:
    table: tuple[tuple[Script, bool], ...] = (
        (['{"holds": true}', END], True),
        (['{"holds": false}', END], False),
        ([ModelUnavailable("busy", hint="wait")], False),
    )
    for script, holds in table:
        context, _ = await context_of("who decides?", script)
        assert await confirmed(context, "It is so.") is holds


async def test_a_mode_alone_is_left_by_a_wish_of_its_own_and_not_by_a_message_that_was_handed_over() -> None:
    for process, may in (("academic", True), ("poetic", True), ("engaged", False), ("problem_solving", False)):
        context, _ = await context_of("where is my coat?", process=process)
        assert may_leave_a_mode(context) is may, process
        handed = replace(context, state=ProcessState(process, params={HANDED_OVER: context.perception.id}))
        assert not may_leave_a_mode(handed), process
