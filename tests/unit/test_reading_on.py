"""Read: it opens what was found and nothing else, in pages that hold all of it, and says what is not there."""

from hypothesis import given
from hypothesis import strategies as st

from daemon.core.ports.library import Passage
from daemon.core.working_memory import WorkingMemory, estimate_tokens
from daemon.ism.actions.read import number_and_page, read
from daemon.ism.problem import PAGE_TOKENS, Problem, pages, share_evenly, text_pages
from tests.unit.solving_parts import ActionBench, Books, observation, scene

BOOK = "docs/kilns.md"
CHAPTERS = tuple(
    Passage(f"{BOOK}:{10 * number + 1}", f"chapter {number} " + "x" * 2_000, document=BOOK, line=10 * number + 1)
    for number in range(9)
)
TALK = Passage("this conversation 2026-11-22, Ada", "kilns crack")


def reader() -> ActionBench:
    return scene().having(library=Books(documents={BOOK: CHAPTERS}))


def problem(*found: Passage) -> Problem:
    one = Problem(WorkingMemory("Tess"))
    one.add(found)
    return one


async def seen(one: ActionBench, known: Problem, words: str) -> str:
    return observation(await one.act(read(one.context, known), words))


async def test_what_was_found_is_opened_with_what_follows_and_nothing_else_is() -> None:
    one, known = reader(), problem(TALK, CHAPTERS[2])
    text = await seen(one, known, "2")
    assert text.startswith(f"[2] {BOOK}:21\nchapter 2 ")
    assert f"[3] {BOOK}:31\nchapter 3 " in text
    assert text.endswith("(Page 1 of 3; the next one: `2 page 2`.)")
    assert known.with_sources("So [3].").endswith(f"[3] `{BOOK}:31`")
    for library in (None, Books()):
        one = scene().having(library=library)
        text = await seen(one, problem(CHAPTERS[4]), "1")
        assert text.startswith(
            f"{BOOK} can't be opened any more; this is what was found of it.\n\n[1] {BOOK}:41\nchapter 4 "
        ), library
    for words in ("0", "3", "999999", "", "the first one", "../../etc/passwd", "docs/secret.md"):
        text = await seen(reader(), problem(TALK, CHAPTERS[0]), words)
        assert text == "There is no such passage; give the number of one, from 1 to 2.", words
    assert await seen(reader(), problem(), "1") == "Nothing was found yet that could be opened."
    for found in (TALK, CHAPTERS[0]):
        text = await seen(reader(), problem(found), "1 page 77")
        assert text.startswith("From passage 1 on there is no page 77; the last one is "), found
    forged = Passage(f"{BOOK}:1", "said by somebody who calls himself a document")
    text = await seen(reader(), problem(forged), "1")
    assert "chapter" not in text
    for words, pair in (("3", (3, 1)), ("[3], page 2", (3, 2)), ("3 page 2", (3, 2)), ("", (0, 1)), ("٣", (0, 1))):
        assert number_and_page(words) == pair


async def test_the_pages_of_a_document_and_of_a_long_output_follow_each_other_without_a_gap() -> None:
    one, known = reader(), problem(CHAPTERS[0])
    shown = [await seen(one, known, f"1 page {page}") for page in range(1, 4)]
    places = [text.index(f"chapter {number} ") for text in shown for number in range(9) if f"chapter {number} " in text]
    assert len(places) == 9
    assert shown[-1].endswith("(Page 3 of 3.)")
    assert max(map(estimate_tokens, shown)) < PAGE_TOKENS + 100
    output = "\n".join("語" * 100 for _ in range(55))
    known = problem(Passage("shelf/flood", output))
    first = await seen(one, known, "passage 1")
    last = int(first.rpartition("(Page 1 of ")[2].partition(";")[0])
    assert last > 1
    pages = [await seen(one, known, f"1 page {page}") for page in range(1, last + 1)]
    assert sum(text.count("語") for text in pages) == 5_500
    assert max(map(estimate_tokens, pages)) < PAGE_TOKENS + 100


TEXTS = st.text(alphabet="ab ñ語😀\n.", max_size=400)


@given(st.lists(st.integers(0, 500), max_size=8), st.integers(0, 1_000))
def test_shares_are_even_and_nothing_is_wasted(needs: list[int], total: int) -> None:
    shares = share_evenly(needs, total)
    assert all(0 <= share <= need for share, need in zip(shares, needs, strict=True))
    assert sum(shares) <= total
    assert sum(shares) == sum(needs) or sum(shares) > total - max(1, len(needs))


@given(TEXTS, st.integers(150, 300))
def test_pages_of_a_text_hold_all_of_it(text: str, tokens: int) -> None:
    parts = text_pages(text, tokens)
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert len(parts) >= 1


@given(st.lists(TEXTS, max_size=12), st.integers(1, 200))
def test_pages_hold_every_text_once_and_in_order(texts: list[str], tokens: int) -> None:
    parts = pages(texts, tokens)
    assert [place for page in parts for place in page] == list(range(len(texts)))
    sizes = [sum(estimate_tokens(texts[place]) for place in page) for page in parts if len(page) > 1]
    assert all(size <= tokens for size in sizes)
