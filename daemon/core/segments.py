"""A text as the sentences that it consists of, in any language, each with the marks that it cites."""

import re
from dataclasses import dataclass
from typing import Final

_MARK: Final = r"m?\d{1,3}"
_CITED: Final = rf"\[(?P<marks>{_MARK}(?:,[ ]?{_MARK})*)\](?![(:])"
_MARKS: Final = re.compile(rf" ?{_CITED}")
_SOURCE_LINE: Final = re.compile(
    rf"\[(?P<mark>{_MARK})\] `(?P<source>[^`]*)`"
)  # as `mind.citations.listed` writes them
_FENCE: Final = re.compile(r"\s*(```|~~~)")
_LEAD: Final = re.compile(r"^\s*(?:(?:[-*+•>]|#{1,6}|\d{1,3}[.)])\s+)*")
_CLOSING: Final = "[\"'”’»)\\]*_]*+"  # noqa: RUF001 - quotation marks
_TAIL: Final = rf"{_CLOSING}(?:\s*+\[{_MARK}(?:,[ ]?{_MARK})*+\])*+"
_STOPS: Final = "[.!?…؟]"
# Nothing is tried twice (++, *+), and no run of stops is tried from its middle: a line of dots costs its length alone.
_END: Final = re.compile(rf"(?:(?<!{_STOPS}){_STOPS}++{_TAIL}(?=\s)|[。！？｡।॥]++{_TAIL})")  # noqa: RUF001
_ABBREVIATED: Final = 8  # characters that an abbreviation and what stands before it have at most
_NO_END: Final = re.compile(
    r"(?:^|\W)(?:\w|\d{1,2}|dr|mr|mrs|ms|prof|st|vs|nr|bzw|ca|etc|z\.b|e\.g|i\.e|d\.h)\.$", re.IGNORECASE
)
_SAYS: Final = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Segment:
    """A sentence without its marks, and the marks: `m2`, `3`."""

    text: str
    marks: tuple[str, ...] = ()


def segments_of(text: str) -> tuple[Segment, ...]:
    """The sentences of a text in order; a block of code is one, a list of sources is none.

    A sentence ends with its line, or with a mark of the end that is no part of a number or of a common abbreviation.
    """
    found: list[Segment] = []
    code: list[str] | None = None
    for line in text.splitlines():
        fence = bool(_FENCE.match(line))
        if code is not None:
            code.append(line)
            if fence:
                found.append(Segment("\n".join(code)))
                code = None
        elif fence:
            code = [line]
        elif not _SOURCE_LINE.fullmatch(line.strip()):
            found += _in_line(" ".join(_LEAD.sub("", line).split()))
    if code is not None:
        found.append(Segment("\n".join(code)))
    return tuple(one for one in found if _SAYS.search(one.text))


def sources_in(text: str) -> dict[str, str]:
    """The list of sources below a text, by their marks."""
    lines = (_SOURCE_LINE.fullmatch(line.strip()) for line in text.splitlines())
    return {line["mark"]: line["source"] for line in lines if line}


def _in_line(line: str) -> list[Segment]:
    parts, start = [], 0
    for end in _END.finditer(line):
        if _NO_END.search(line[start : end.start() + 1][-_ABBREVIATED:]):
            continue
        parts.append(line[start : end.end()])
        start = end.end()
    parts.append(line[start:])
    return [_segment(one) for one in parts if one.strip()]


def _segment(part: str) -> Segment:
    marks = dict.fromkeys(mark.strip() for found in _MARKS.finditer(part) for mark in found["marks"].split(","))
    return Segment(_MARKS.sub("", part).strip(), tuple(marks))
