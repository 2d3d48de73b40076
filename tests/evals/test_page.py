"""The report: one file, with any text in the talk, with what failed and why."""

import re
from html.parser import HTMLParser
from pathlib import Path

from msgspec.structs import replace

from evals.page import page
from evals.run import Order, Run
from evals.scenario import Category, Scenario
from evals.seen import Check
from tests.evals.inside import MODEL
from tests.evals.parts import played, scenario

HOST = {"date": "2026-11-22", "system": "Linux x86_64", "python": "3.11.7"}
HOSTILE = "<script>alert(1)</script><img src=https://evil.example/x onerror=alert(1)> & '\" \u202e"


class Tags(HTMLParser):
    """The elements of a document, and whether each is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # the base's
        self.seen.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def document(one: Scenario, reply: str = "Good day.", *checks: Check) -> str:
    run = Run(Order([one], MODEL), lambda _: None)
    run.plays.append(played(one, reply, checks=checks))
    return page(run, HOST)


def test_all_that_was_said_is_text_and_nothing_is_fetched(tmp_path: Path) -> None:
    one = scenario(tmp_path)
    hostile = one.model_copy(update={"title": HOSTILE[:100], "about": HOSTILE})
    text = document(hostile, HOSTILE, Check(Category.WORDS, HOSTILE, passed=False, seen=HOSTILE))
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    assert not {"script", "img", "link", "iframe", "object", "form"} & set(tags.seen)
    assert "default-src 'none'" in text
    assert not re.search(r"(?:src|href)=(?!'#s)", text.replace("src=https://evil.example", ""))
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text


def test_what_failed_or_broke_off_is_open_and_says_why(tmp_path: Path) -> None:
    one = scenario(tmp_path)
    assert "<details id='s0'>" in document(one)
    failed = document(
        one, "Good day.", Check(Category.LANGUAGE, "the reply is in de", passed=False, seen="it is in en")
    )
    assert "<details id='s0' open>" in failed
    assert "the reply is in de" in failed
    assert "it is in en" in failed
    one = scenario(tmp_path)
    run = Run(Order([one], MODEL), lambda _: None, stopped="interrupted")
    assert "0 of 0 scenarios passed" in page(run, HOST)
    run.plays.append(replace(played(one), broke_off="the daemon is gone"))
    text = page(run, HOST)
    for told in ("Stopped before all were played: interrupted.", "It broke off: the daemon is gone", ">broke off<"):
        assert told in text
