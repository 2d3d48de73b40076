"""Which parts of a reply become files is decided by form and length; a file holds what the message would have shown."""

import csv
import io

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from daemon.channels.slack.files import MOST_FILES, content_of, is_markdown, with_files
from daemon.core.ports.library import ReplyFile
from daemon.core.sentences import HOUSE_WORDS
from tests.given import post

LONG = "\n".join(f"line_{number} = {number}" for number in range(80))
TABLE = "\n".join(("| name | sum |", "|---|---:|", *(f"| p{number} | {number} |" for number in range(40))))


def attached(reply: str, key: str = "k@1#0") -> tuple[str, tuple[ReplyFile, ...]]:
    return with_files(reply, key, HOUSE_WORDS)


def content(file: ReplyFile) -> str:
    return content_of(replace(post(body=file.body), file=file.name)).decode()


def test_long_code_is_a_file_and_the_words_around_it_stay() -> None:
    words, [file] = attached(f"Here it is:\n\n```python\n{LONG}\n```\n\nTry it.")
    assert words == f"Here it is:\n\n(It is below, as `{file.name}`.)\n\nTry it."
    assert (file.name[:5], file.name[-3:], content(file)) == ("code-", ".py", f"{LONG}\n")
    _, [file] = attached("```svg\n<svg/>\n```")  # a drawing, however short
    assert (file.name[:8], content(file)) == ("picture-", "<svg/>\n")
    row = "|" + " x |" * 11
    assert len(attached(f"{row}\n|{'---|' * 11}\n{row}")[1]) == 1, "a wide table is a file too"


def test_its_name_tells_what_it_is() -> None:
    for language, stem, ending in (
        ("", "draft", "txt"),
        ("markdown", "draft", "md"),
        ("unheard", "draft", "txt"),
        ("csv", "table", "csv"),
    ):
        _, [file] = attached(f"```{language}\n{LONG}\n```")
        assert (file.name.partition("-")[0], file.name.rpartition(".")[2]) == (stem, ending), language


def test_what_reads_well_in_a_message_stays() -> None:
    for reply in (
        "Hello.",
        "```py\nx = 1\n```",
        f"```py\n{LONG}",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        f"> ```py\n{LONG}\n> ```",
        "",
    ):
        assert attached(reply) == (reply, ()), reply


def test_a_large_table_is_a_csv_file_that_runs_nothing() -> None:
    table = TABLE.replace("| p3 | 3 |", "| =HYPERLINK(1) \\| x | -3 |")
    words, [file] = attached(f"The sums:\n{table}\nThat is all.")
    assert words.endswith("\nThat is all.")
    rows = list(csv.reader(io.StringIO(content(file))))
    assert len(rows) == 41
    assert rows[0] == ["name", "sum"]
    assert rows[4] == ["'=HYPERLINK(1) | x", "-3"]


def test_no_two_files_have_one_name() -> None:
    block = f"```py\n{LONG}\n```\n"
    words, files = attached(block * 7)
    others = attached(block, key="k@2#0")[1]
    assert len({one.name for one in (*files, *others)}) == MOST_FILES + 1
    assert words.count("```py") == 2


def test_a_body_of_another_kind_is_sent_as_it_is() -> None:
    export = replace(post(body='{"a": 1}\n'), file="memory.json")
    assert content_of(export) == b'{"a": 1}\n'
    assert not is_markdown(export)


LINES = st.sampled_from(["```py", "```", "~~~", "| a | b |", "|---|---|", "words", "", "x" * 5_000, "````"])


@given(st.lists(LINES, max_size=60))
def test_nothing_is_lost_of_any_reply(lines: list[str]) -> None:
    reply = "\n".join(lines)
    words, files = attached(reply)
    for file in files:
        words = words.replace(HOUSE_WORDS.say("file_below", name=file.name), file.body, 1)
        assert is_markdown(replace(post(body=file.body), file=file.name))
        content(file)
    assert words == reply


def test_a_hostile_reply_is_looked_at_in_no_time() -> None:
    for reply in ("```a\n~~~\n" * 8_000, "| a |\n" * 8_000, "|" * 60_000, "`" * 60_000):
        assert attached(reply) == (reply, ())
