"""Sessions: what an event makes of their rows by clocks that are wrong, the names that people can type, and titles."""

from msgspec.structs import replace

from daemon.core.pairing import handle
from daemon.core.phrases import phrase_in
from daemon.core.questions import LONGEST, title_of
from daemon.core.sessions import CodeSession, HookEvent, Lost, SessionState, Visibility, after
from daemon.shared.asking import LEASE_MS, as_found
from tests.chance import dice

NOW = 1_700_000_000_000
YEAR = 365 * 86_400_000
FRESH = CodeSession("s1", "k1", "U0ADA", "T1", Visibility.PROJECT)


def heard(hook: str, sent_ms: int, received_ms: int) -> HookEvent:
    return HookEvent("e1", "s1", hook, sent_ms, 0, received_ms)


def met(received_ms: int) -> CodeSession:
    found = after(None, heard("SessionStart", NOW, received_ms), FRESH)
    assert found is not None
    return found


def test_an_event_counts_by_when_it_was_sent_whatever_our_clock_says() -> None:
    found = after(met(NOW + YEAR), heard("UserPromptSubmit", NOW + 1000, NOW + 1000), FRESH)
    assert found is not None
    assert (found.state, found.seen_ms) == (SessionState.WORKING, NOW + 1000)
    found = after(met(NOW + 30_000), heard("UserPromptSubmit", NOW - 1000, NOW), FRESH)
    assert found is not None
    assert (found.state, found.sent_ms) == (SessionState.IDLE, NOW)


def test_a_session_without_a_word_counts_as_living_for_an_hour_whatever_clock_heard_it() -> None:
    table = {
        NOW - LEASE_MS + 1000: (None, ""),
        NOW + 1000: (None, ""),
        NOW - LEASE_MS - 1000: (NOW - 1000, Lost.LEASE),
        NOW + YEAR: (NOW, Lost.LEASE),
    }
    for seen_ms, ended in table.items():
        found = as_found(replace(met(NOW), seen_ms=seen_ms), NOW)
        assert (found.ended_ms, found.reason) == ended


def test_names_are_such_as_people_can_type_and_titles_one_short_line_of_their_first_words() -> None:
    for person, project, name in (
        ("Ада Лавлейс", "интерфейс", "ада-интерфейс"),
        ("प्रिया शर्मा", "api", "प्रिया-api"),
        ("山田 太郎", "プロジェクト", "山田-プロジェクト"),
        ("Jose\u0301", "cafe\u0301", "josé-café"),
        ("\uff21\uff44\uff41", "x", "ada-x"),
        ("\U0001f642", "\u202e..", "person-session"),
    ):
        assert handle(person, project) == name
        found = phrase_in(f"ask {name}: what?")
        assert found is not None, person
        assert (found.name, found.words) == (name, "what?")
    for letter in ("a", "я", "न", "ि", "名", "\u0301"):
        for text in (
            f"ask {letter * 20_000}",
            f"ask {letter}-{letter * 20_000} x",
            f"bind {(letter + '-') * 9_000}! here",
        ):
            assert phrase_in(text) is None, letter
    for said, title in (
        ("Hello there, what is the limit of the export?", "Hello there, what is the limit of the export?"),
        ("Hi! Can you check the kiln? It cracked.", "Hi! Can you check the kiln?"),
        ("Ask <@U0BEN> about this (https://x.example/a/b)", "Ask about this (x.example)"),
        ("See https://docs.example/limits/api?x=1 for *all* `limits`.", "See docs.example for all limits"),
        ("> Ben wrote: the kiln is mine\nIs that so with the kiln?", "Is that so with the kiln?"),
        ("```\nprint(1)\n```\nWhy does this print 1 alone?", "Why does this print 1 alone?"),
        ("[shared a file: plan.pdf]", ""),
        ("> [Ben, forwarded:]\n> all of it", ""),
        ("   \n\u202e\x00", ""),
        ("snake_case_names stay as they are", "snake_case_names stay as they are"),
        ("窯が割れた。どうすればいい。", "窯が割れた。 どうすればいい。"),
    ):
        assert title_of(said) == title
    title = title_of("Please tell me at length how the kiln in the lower workshop came to crack last week")
    assert title == "Please tell me at length how the kiln in the lower workshop…"
    assert title_of("x" * 500) == "x" * (LONGEST - 1) + "…"
    draw = dice("titles")
    pieces = ["<@U1>", "<", ">", "`", "```", "\n", "> ", "[", "]", "https://", "_", "*", "a" * 70, " ", ".", "\u202e"]
    for _ in range(300):
        said = "".join(draw.choice(pieces) for _ in range(draw.randrange(60)))
        title = title_of(said)
        assert len(title) <= LONGEST
        assert "\n" not in title
        assert "<@" not in title
