"""Citations in a reply: the model writes only marks such as [1], and the daemon writes the sources."""

import re
from collections.abc import Mapping
from typing import Final

from daemon.core.sentences import HOUSE_WORDS, Words
from daemon.core.text import one_line, visible_line

_CODE: Final = r"(?P<code>(?<!`)(?P<run>`+)(?!`).*?(?<!`)(?P=run)(?!`)|(?<!`)```.*\Z)"


_SECTION: Final = re.compile(r"(?<=\.docx, )(?P<of>section) (?P<which>.+)$")
_PLACES: Final = (  # as the readers of documents name them (daemon/tools/documents/formats)
    re.compile(r"(?<=, )(?P<of>page|slide|rows?|paragraphs?) (?P<which>[\d-]+)$"),
    re.compile(r"(?<=\.xls[mx], )(?P<of>sheet) (?P<which>.+)(?=, [^,]+$)"),
)
_TALK: Final = re.compile(r"^(this )?conversation(?= \d{4}-\d\d-\d\d, )")


class Citations:
    r"""A checker for the marks of a reply. `marks` is a pattern of one mark without its brackets, as in `m\d{1,2}`."""

    def __init__(self, marks: str) -> None:
        self._found = re.compile(
            rf"{_CODE}|(?P<space>[ \t]?)\[(?P<marks>{marks}(?:,[ ]?{marks})*)\](?![(:])", re.DOTALL
        )

    def checked(self, reply: str, sources: Mapping[str, str]) -> tuple[str, dict[str, str]]:
        """Return a reply without unknown marks, and the sources that it cites, in the order of `sources`.

        Code is left as it is.
        """
        cited = set[str]()

        def known(match: re.Match[str]) -> str:
            if match["code"]:
                return match[0]
            marks = [one for one in (mark.strip() for mark in match["marks"].split(",")) if one in sources]
            cited.update(marks)
            return f"{match['space']}[{', '.join(marks)}]" if marks else ""

        text = self._found.sub(known, reply).rstrip()
        return text, {mark: source for mark, source in sources.items() if mark in cited}


def listed(sources: Mapping[str, str], words: Words = HOUSE_WORDS) -> str:
    """List sources with their marks, one a line, for below a reply, in a soul's words. Each source is inert."""
    return "\n".join(f"[{mark}] `{_inert(source_in(words, source))}`" for mark, source in sources.items())


def source_in(words: Words, source: str) -> str:
    """Return a source, which the store names in English, with its place in these words: `report.pdf, Seite 12`."""
    for place in (_SECTION,) if _SECTION.search(source) else _PLACES:  # a heading may read like a place itself
        source = place.sub(lambda found: words.say(f"source_{found['of']}", which=found["which"]), source)
    return _TALK.sub(lambda found: words.say("source_here" if found[1] else "source_elsewhere"), source)


def _inert(source: str) -> str:
    return one_line(visible_line(source.replace("`", "'")))
