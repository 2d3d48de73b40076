"""Renders docs/FEATURES.md from the rows."""

from collections import Counter
from collections.abc import Iterable, Iterator

from tests.matrix.features import Feature, FeatureGroup, Verdict, groups

_HEADER = """\
# Features

What teams expect of an agent in Slack, row by row. The rows are those by which such programs are compared: what people
see in Slack, what happens to a message, what is remembered, and how it is run. *Yes* means that a user gets all of it,
and that the tests named beside it show it. *Partly* and *no* say what is missing, and why.

Generated from `tests/matrix/rows.toml` by `python -m tests.matrix docs/FEATURES.md`; a test holds that the page is
current and that every test that it names exists.
"""


def page() -> str:
    """The text of the document."""
    return "\n".join((_HEADER, *_counts(groups()), *(line for group in groups() for line in _section(group))))


def _counts(every: Iterable[FeatureGroup]) -> Iterator[str]:
    yield "| | yes | partly | no | rows |"
    yield "|---|---|---|---|---|"
    whole: list[Feature] = []
    for group in every:
        whole += group.features
        yield _count(group.title, group.features)
    yield _count("**All**", whole) + "\n"


def _count(title: str, features: Iterable[Feature]) -> str:
    count = Counter(one.verdict for one in features)
    figures = " | ".join(str(count[verdict]) for verdict in Verdict)
    return f"| {title} | {figures} | {count.total()} |"


def _section(group: FeatureGroup) -> Iterator[str]:
    yield f"## {group.title}\n"
    yield "| # | feature | | shown by, or what is missing |"
    yield "|---|---|---|---|"
    yield from (f"| {one.number} | {one.name} | {one.verdict} | {_evidence(one)} |" for one in group.features)
    yield ""


def _evidence(feature: Feature) -> str:
    return "<br>".join([*filter(None, [feature.missing]), *(f"`{test}`" for test in feature.tests)])
