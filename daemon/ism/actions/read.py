"""The action Read: open a passage that Research found, and read on in its document."""

import re
from collections.abc import Sequence

from daemon.core.ports.library import Passage
from daemon.ism.machine import Action, ActionUse, Recurse
from daemon.ism.problem import Problem, pages, text_pages
from daemon.mind.process import ProcessContext

_FOLLOWING = 400  # passages of a document that can be read on from one of them
_NUMBER = re.compile(r"[0-9]{1,6}")


def read(context: ProcessContext, problem: Problem) -> Action:
    """Build the action for passages found in this problem. Its input is the number of a passage, then of a page."""

    async def handle(use: ActionUse) -> Recurse:
        number, page = number_and_page(use.input)
        if not problem.found:
            return use.recurse(observation="Nothing was found yet that could be opened.")
        if not 1 <= number <= len(problem.found):
            last = len(problem.found)
            return use.recurse(observation=f"There is no such passage; give the number of one, from 1 to {last}.")
        return use.recurse(observation=await _opened(context, problem, number, page))

    return Action(
        "Read",
        "open a passage that Research has numbered, whole, and read on behind it in its document; input: the number, "
        "like `3`, and to turn the page `3 page 2`",
        handle,
        aloud=lambda words: "{} page {}".format(*number_and_page(words)),
    )


def number_and_page(words: str) -> tuple[int, int]:
    """Return the numbers of a passage (0 without any) and of a page (1 without any) from an input."""
    given = [int(one) for one in _NUMBER.findall(words)]
    return (given[0] if given else 0), (given[1] if given[1:] else 1)


async def _opened(context: ProcessContext, problem: Problem, number: int, page: int) -> str:
    """Return a page that begins with a passage, or one sentence on why there is none. Raises StoreError."""
    passage = problem.found[number - 1]
    following = await _following(context, passage)
    if not following:
        return "\n\n".join(filter(None, (_gone(passage), _part_of(passage, number, page))))
    parts = pages([one.text for one in following])
    if not 1 <= page <= len(parts):
        return _no_page(number, page, len(parts))
    shown = [following[place] for place in parts[page - 1]]
    for one in shown:
        context.cycle.cite(one.text)
    return "\n\n".join((*(_headed(problem.number(one), one) for one in shown), _place(number, page, len(parts))))


async def _following(context: ProcessContext, passage: Passage) -> Sequence[Passage]:
    library = context.capabilities.library
    if not passage.document or library is None:
        return ()
    return await library.read_on(passage.document, passage.line, _FOLLOWING)


def _part_of(passage: Passage, number: int, page: int) -> str:
    parts = text_pages(passage.text)
    if not 1 <= page <= len(parts):
        return _no_page(number, page, len(parts))
    return f"[{number}] {passage.source}\n{parts[page - 1]}\n\n{_place(number, page, len(parts))}"


def _headed(number: int, passage: Passage) -> str:
    return f"[{number}] {passage.source}\n{passage.text}" if number else f"{passage.source}\n{passage.text}"


def _gone(passage: Passage) -> str:
    return f"{passage.document} can't be opened any more; this is what was found of it." if passage.document else ""


def _no_page(number: int, page: int, last: int) -> str:
    return f"From passage {number} on there is no page {page}; the last one is {last}."


def _place(number: int, page: int, last: int) -> str:
    more = f"; the next one: `{number} page {page + 1}`" if page < last else ""
    return f"(Page {page} of {last}{more}.)"
