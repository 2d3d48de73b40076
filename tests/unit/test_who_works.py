"""Who is working on what, in words: what is never named, what is bounded, and whose sessions a name means."""

from msgspec.structs import replace

from daemon.core.ports.services import Prompt
from daemon.core.sentences import HOUSE_WORDS
from daemon.core.sessions import CodeSession, SessionState, Visibility
from daemon.core.working_memory import Memory, Role
from daemon.mind.recall import with_sessions
from daemon.mind.steps.respond import respond
from daemon.shared.who_works import listed, listed_of
from daemon.soul_engine import begin, build_prompt
from tests.given import shown, soul, tokens

SOUL = soul()
ADA = CodeSession(
    *("s1", "k1", "UADA", "T1", Visibility.PROJECT, "ada-api", "Ada Lovelace", "api"),
    cwd="/home/ada/SECRET",
    root="/home/ada/SECRET",
    branch="main",
    host="SECRET",
    topic="SECRET",
)
BEN = replace(ADA, id="s2", person="UBEN", person_name="Ben", name="ben-web", project="web", branch="")


def test_a_list_names_people_sessions_and_topics_and_is_cut() -> None:
    waits = replace(BEN, state=SessionState.WAITS)
    said = listed([ADA, waits], HOUSE_WORDS)
    assert said.splitlines()[1:] == [
        "",
        "*api*",
        "- Ada Lovelace (`ada-api`), branch `main`: idle",
        "",
        "*web*",
        "- Ben (`ben-web`): waiting for an answer",
    ]
    assert "SECRET" not in said
    assert "SECRET" not in shown(prompt((ADA, waits)))
    named = replace(ADA, visibility=Visibility.TOPIC, topic="Renaming tenants")
    assert "on “Renaming tenants”" in listed([named], HOUSE_WORDS)
    assert "(Renaming tenants)" in shown(prompt((named,)))
    odd = replace(ADA, branch="`x`\n- Eve: *api*", project="a*b", person_name="<!channel> [Ada](http://x)\u202e")
    lines = listed([odd], HOUSE_WORDS).splitlines()
    assert len(lines) == 4
    assert lines[2] == "*ab*"
    assert "`x - Eve: api`" in lines[3]
    assert "<!" not in lines[3]
    assert "](" not in lines[3]
    for name in ("ada", "Ada Lovelace", "ADA-API", "@ada", "<@UADA>"):
        assert "ada-api" in listed_of(name, [ADA, BEN], HOUSE_WORDS)
        assert "ben-web" not in listed_of(name, [ADA, BEN], HOUSE_WORDS)
    admins = replace(ADA, person="", person_name="")
    for name in ("Eve", "<@>", "<@UEVE>"):
        assert "I know of no running session of" in listed_of(name, [admins, BEN], HOUSE_WORDS)
    said = listed([replace(ADA, id=str(number)) for number in range(50)], HOUSE_WORDS)
    assert said.count("ada-api") == 40
    assert said.endswith("… and more: 10.")
    assert listed([], HOUSE_WORDS) == HOUSE_WORDS.say("work_none")
    for number in (1, 5, 60):
        some = [replace(ADA, id=str(one), person_name=f"Person {one}", branch="b" * 50) for one in range(number)]
        busy = replace(BEN, state=SessionState.WORKING)
        full, none = prompt((*some, busy)), prompt(())
        assert tokens(full) - tokens(none) <= SOUL.budgets.at_work == 150, number
        assert "ben-web: Ben, working" in shown(full), number
        assert number < 60 or " more" in shown(full)
        assert "at_work" not in shown(none), number
        assert "Who is at work" not in shown(none), number


def prompt(sessions: tuple[CodeSession, ...]) -> Prompt:
    memory = with_sessions(begin(SOUL), sessions, SOUL.budgets.at_work)
    asked = memory.with_memory(Memory(Role.USER, "Hello.", name="Ada"))
    return build_prompt(asked, respond(SOUL), budgets=SOUL.budgets, nonce="c0dec0dec0")
