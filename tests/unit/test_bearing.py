"""From the sentences of a reply to the memories that bear them: by what it cites, by words, by meaning."""

from hypothesis import given
from hypothesis import strategies as st

from daemon.core.words import Segment, segments_of
from daemon.memory.retrieval.bearing import MOST_MEMORIES, Bearer, borne

BEES = Bearer("sem_1", "m1", "keeps bees\nI keep bees on the roof")
PRICE = Bearer("TU_4", "m2", "the new kiln costs 1200 euros")
LOOM = Bearer("sem_2", "", "weaves at the north loom")
BERLIN = Bearer("sem_3", "", "住在柏林\n我现在住在柏林")
ALL = (BEES, PRICE, LOOM, BERLIN)


def bearers_of(reply: str, *memories: Bearer) -> list[tuple[str, ...]]:
    return [one.memories for one in borne(segments_of(reply), memories or ALL)]


def test_a_text_is_cut_into_its_sentences_in_any_language_each_with_the_marks_behind_it() -> None:
    table = {
        "You keep bees. They sleep.": ["You keep bees.", "They sleep."],
        "It is 3.5 km, e.g. here. Dr. Who came! Really?": ["It is 3.5 km, e.g. here.", "Dr. Who came!", "Really?"],
        "Am 3. Mai kommt z.B. Ada. Gut.": ["Am 3. Mai kommt z.B. Ada.", "Gut."],
        "我养蜂。他住在柏林！好": ["我养蜂。", "他住在柏林！", "好"],  # noqa: RUF001
        "# Head\n\n- one\n2. two\n> three…": ["Head", "one", "two", "three…"],
        "“Yes.” *No.* (So.) End": ["“Yes.”", "*No.*", "(So.)", "End"],
        "See:\n```py\nx = 1. \ny\n```\nSo.": ["See:", "```py\nx = 1. \ny\n```", "So."],
        "An open fence\n```\nx": ["An open fence", "```\nx"],
        "…\n\n---\n\n!": [],
        "": [],
    }
    assert {text: [one.text for one in segments_of(text)] for text in table} == table
    reply = (
        "You keep bees. [m1] It costs 12[m2, 3]! [a](b) [m4](c)\n\n[m1] `conversation 2026-05-01, Ada`\n[3] `a.md:1`"
    )
    assert segments_of(reply) == (
        Segment("You keep bees.", ("m1",)),
        Segment("It costs 12!", ("m2", "3")),
        Segment("[a](b) [m4](c)"),
    )


def test_a_sentence_is_borne_by_what_it_cites_or_by_the_memory_that_says_the_same() -> None:
    assert bearers_of("That I know of you. [m2] So be it [m1, m2].") == [("TU_4",), ("sem_1", "TU_4")]
    assert bearers_of("I made this mark up. [m9]") == [()]
    table = {
        "You keep bees on a roof, don't you?": ("sem_1",),
        "As a beekeeper you know it: your bees live on the roof.": ("sem_1",),
        "It will cost 1200.": ("TU_4",),
        "You weave, at the northern loom.": ("sem_2",),
        "你住在柏林吧？": ("sem_3",),  # noqa: RUF001
        "Hello, Ada!": (),
        "The sky is blue today.": (),
        "Shall I go on?": (),
        "I like the way you think about that.": (),
        "今天天气很好。": (),
    }
    assert {sentence: bearers_of(sentence) for sentence in table} == {one: [by] for one, by in table.items()}
    harbour = [Bearer(f"TU_{number}", "", f"the harbour has {word}") for number, word in enumerate(("cranes", "gulls"))]
    assert bearers_of("The harbour has gulls.", *harbour) == [("TU_1",)]
    said = segments_of("Your little honey makers are fine.")
    [by_meaning] = borne(said, ALL, [{"sem_1": 0.71, "sem_2": 0.54, "TU_4": -0.2}])
    assert by_meaning.memories == ("sem_1",)


WORDS = st.sampled_from(
    ["bees", "roof", "1200", "loom", "柏林", "[m1]", "[m2, m9]", ".", "!", "。", "\n", "```", "the", "("]
)


@given(st.one_of(st.text(max_size=300), st.lists(WORDS, max_size=40).map(" ".join)))
def test_any_reply_is_explained_with_known_ids_the_same_way_each_time(reply: str) -> None:
    said = segments_of(reply)
    found = borne(said, ALL)
    assert len(found) == len(said)
    assert found == borne(said, tuple(reversed(ALL)))
    for one in found:
        assert set(one.memories) <= {memory.id for memory in ALL}
        assert one.cited or len(one.memories) <= MOST_MEMORIES


@given(st.text(max_size=400))
def test_no_word_of_a_text_is_lost_or_made_up(text: str) -> None:
    kept = "".join(char for one in segments_of(text) for char in one.text if char.isalpha())
    letters = iter(char for char in text if char.isalpha())
    assert all(char in letters for char in kept)


def test_a_hostile_line_is_cut_in_time_that_grows_with_its_length_alone() -> None:
    spaced = "." + " " * 60_000 + "["
    repeated = ("." * 60_000, '."' * 30_000, "[m1]" * 20_000, "[m1, " * 10_000, "。" * 50_000, "> " * 30_000)
    for text in (spaced, *repeated):
        assert len(segments_of(f"{text} So.")) <= 1, "a try at each place would take minutes"
