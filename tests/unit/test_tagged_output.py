"""What the parser of tagged answers releases: one malformation at a time, and hostile answers at every cut."""

import re
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from daemon.core.text import OPENERS
from daemon.mind.reply import _VOCABULARY as REASONING
from daemon.mind.tagged_output import KNOWN_TAGS, REPLY_TAG, VOCABULARY, TaggedOutput
from daemon.mind.tagged_output import tags as tags_module
from daemon.mind.tagged_output.tags import Kind, Token
from tests import chance
from tests.unit.hostile_answers import CANARY, Author

THOUGHT = '<internal_monologue verb="mused">SECRET</internal_monologue>'


def parse(text: str, *, pieces: int = 0) -> tuple[str, TaggedOutput]:
    """Parse whole, or in pieces of `size` characters; the released text, and the parser."""
    output = TaggedOutput()
    size = pieces or max(len(text), 1)
    released = "".join(output.feed(text[at : at + size]) for at in range(0, len(text), size))
    return released + output.finish(), output


def test_a_well_formed_answer_gives_its_elements_and_a_reply_keeps_its_own_brackets() -> None:
    released, output = parse(
        f'<stimulus_verb>asked</stimulus_verb>\n{THOUGHT}\n<external_dialogue verb="explained">\n Hello. \n'
        "</external_dialogue>\n<user_model_check>true</user_model_check>"
        '<dossier_update entity="Ada &amp; Co" type="person">notes</dossier_update>'
    )
    assert released == output.reply == output.released == "Hello."
    assert output.complete
    assert output.reply_verb == "explained"
    assert output.faults == ()
    assert output.elements["stimulus_verb"].content == "asked"
    assert output.elements["internal_monologue"].attributes == {"verb": "mused"}
    assert output.elements["dossier_update"].attributes == {"entity": "Ada & Co", "type": "person"}
    assert list(output.elements) == [
        "stimulus_verb", "internal_monologue", "external_dialogue", "user_model_check", "dossier_update"
    ]  # fmt: skip
    for opening in (
        "<external_dialogue verb='said'>",
        "<external_dialogue verb=said>",
        "<EXTERNAL_DIALOGUE VERB = 'said'>",
        '<external_dialogue\n  id="1"\n  verb="said"\n>',
        '< external_dialogue x="a>b" verb="said" >',
        "<external_dialogue mood=“warm” verb=“said”>",
        '<external_dialogue verb="said"mood="warm">',
        '<external_dialogue verb="said" verb="shouted">',
    ):
        released, output = parse(f"{THOUGHT}{opening}Hi</External_Dialogue >")
        assert released == output.reply == "Hi", opening
        assert output.reply_verb == "said", opening
    for reply in (
        "if a < b and c<d: pass",
        "<div class='x'><p>text</p></div>",
        "List<int>, Map<String, List<User>> and std::vector<std::string>",
        "```xml\n<user><name>Ada</name></user>\n```",
        "<in>, <ext>, </user>, <soul>, <model> and <dossier> are only words",
        "x &lt; y &amp;&amp; &copy; &nonsense; &#60;p&#62; &#x41; AT&T &",
        "<<>><</>> <!-- note --> <![CDATA[x]]> <?xml version='1.0'?>",
        "my internal_monologue stays mine, and so do user_whispers",
        "a <\n\n b « c \u203a d",
        "Vec<Think>, Box<Reasoning>",
        "👩‍👩‍👧 é é 漢字 \u202b",
    ):
        text = f"{THOUGHT}<external_dialogue>{reply}</external_dialogue>"
        for pieces in (0, 1, 3):
            released, output = parse(text, pieces=pieces)
            assert released == output.reply == reply.strip()
            assert output.faults == (), reply
    text = "<external_dialogue>\n\n  one \n\n two  \n <user_whispers>x</user_whispers>\n</external_dialogue>"
    for pieces in (0, 1, 2):
        assert parse(text, pieces=pieces)[0] == "one \n\n two"
    output = TaggedOutput()
    assert output.feed("<external_dialogue> Hello ") == "Hello"
    assert output.feed("\n") == ""
    assert output.feed("you") == " \nyou"
    text = "<external_dialogue>a" + " " * 5000 + "b" + "\n" * 3000 + "</external_dialogue>"
    expected = "a" + " " * 1024 + "b"
    for pieces in (0, 1, 700):
        assert parse(text, pieces=pieces)[0] == expected


def test_what_is_private_twofold_truncated_or_behind_a_stray_tag_is_no_reply() -> None:
    released, output = parse(
        "<external_dialogue>one</external_dialogue> <external_dialogue>SECRET</external_dialogue>"
        "<user_model_check>true</user_model_check><user_model_check>false</user_model_check>"
    )
    assert released == output.reply == "one"
    assert output.elements["user_model_check"].content == "true"
    assert set(output.faults) == {"duplicate external_dialogue", "duplicate user_model_check"}
    released, output = parse(
        "<external_dialogue>Hi <internal_monologue>S <user_whispers>S</user_whispers> S</internal_monologue>there"
        "</external_dialogue>"
    )
    assert released == output.reply == "Hi there"
    assert output.faults == ("nested internal_monologue",)
    assert "internal_monologue" not in output.elements
    for quoted in (
        "<external_dialogue>SECRET</external_dialogue>",
        "<external_dialogue>SECRET",
        "</external_dialogue>",
    ):
        released, output = parse(
            f"<internal_monologue>a {quoted} b</internal_monologue><external_dialogue>true</external_dialogue>"
        )
        assert released == output.reply == "true"
        assert "SECRET" in quoted or output.faults == ()
    released, output = parse(f"{THOUGHT}<external_dialogue>Hello the")
    assert released == output.released == "Hello the"
    assert (output.reply, output.complete) == (None, False)
    assert output.faults == ("unclosed external_dialogue",)
    assert parse("<external_dialogue>Hello <inter")[0] == "Hello"
    text = "<internal_monologue>say </internal_monologue><external_dialogue>x</external_dialogue></internal_monologue>"
    assert parse(text)[1].reply is None
    _, output = parse("<external_dialogue>x</external_dialogue></external_dialogue>")
    assert output.reply == "x"
    assert output.faults == ("stray external_dialogue",)
    _, output = parse(
        "<internal_monologue>a</internal_monologue> stray <external_dialogue>S</external_dialogue>"
        "<model_change_note/><user_model_check>true</user_model_check>"
    )
    assert output.reply is None
    assert output.elements["user_model_check"].content == "true"
    assert output.elements["model_change_note"].content == ""
    assert "distrusted external_dialogue" in output.faults


def test_nothing_is_released_after_a_tag_that_does_not_belong_or_of_an_ambiguous_answer() -> None:
    for reply, fault in (
        ("Hi <internal_monologue>SECRET</external_dialogue>", "mismatched external_dialogue"),
        ("Hi <internal_monologue>SECRET", "unclosed internal_monologue"),
        ("Hi <user_whispers/>SECRET</external_dialogue>", "mismatched external_dialogue"),
        ("Hi </internal_monologue>SECRET</external_dialogue>", "mismatched internal_monologue"),
        ("Hi <internal_\u200bmonologue>SECRET</external_dialogue>", "lookalike tag"),
        ("Hi <i\u200bnternal_monologue>SECRET</external_dialogue>", "lookalike tag"),
        ("Hi &lt;internal_monologue&gt;SECRET</external_dialogue>", "lookalike tag"),
        ("Hi &ltinternal_monologue&gtSECRET</external_dialogue>", "lookalike tag"),
        ("Hi &amp;lt;internal_monologue&amp;gt;SECRET</external_dialogue>", "lookalike tag"),
        ("Hi &#x3c;/user&#95;whispers>SECRET</external_dialogue>", "lookalike tag"),
        ("Hi <&#105;nternal_monologue>SECRET</external_dialogue>", "lookalike tag"),
        ("Hi \uff1cinternal_monologue\uff1eSECRET</external_dialogue>", "lookalike tag"),
        ("Hi <\uff49nternal\uff3fmonologue>SECRET</external_dialogue>", "lookalike tag"),
        ("Hi <int\u0435rnal_monologue>SECRET</external_dialogue>", "lookalike tag"),
        ("Hi <internal-monologue>SECRET</external_dialogue>", "lookalike tag"),
        ("Hi <internal monologue>SECRET</external_dialogue>", "lookalike tag"),
        ("Hi <internal\\_monologue>SECRET</external_dialogue>", "lookalike tag"),
        ("Hi <internal_monolouge>SECRET</external_dialogue>", "lookalike tag"),
        ("Hi <internal_monlogue>SECRET</external_dialogue>", "lookalike tag"),
        ("Hi <internal_monologues>SECRET</external_dialogue>", "lookalike tag"),
        ("Hi <internal_monologue:x>SECRET</external_dialogue>", "lookalike tag"),
        ("Hi </external_dialog>SECRET</external_dialogue>", "lookalike tag"),
        ("Hi <internal_monologue <b>SECRET</external_dialogue>", "lookalike tag"),
        ("Hi <" + "\u200b" * 400 + "internal_monologue>SECRET</external_dialogue>", "lookalike tag"),
        ("Hi <internal_monologue " + "x" * 2000 + ">SECRET</external_dialogue>", "lookalike tag"),
        (
            "Hi " + "<user_whispers>" * 40 + "SECRET" + "</user_whispers>" * 40 + "</external_dialogue>",
            "too deep external_dialogue",
        ),
    ):
        for pieces in (0, 1, 7):
            released, output = parse(f"{THOUGHT}<external_dialogue>{reply}", pieces=pieces)
            assert released == "Hi", reply
            assert output.reply is None, reply
            assert not output.complete, reply
            assert fault in output.faults, reply
    for text, fault in (
        ("Just plain words SECRET", "missing external_dialogue"),
        ("", "missing external_dialogue"),
        ("<external_dialogue> \n </external_dialogue>", "empty external_dialogue"),
        ("<external_dialogue/>SECRET", "empty external_dialogue"),
        ("<internal_monologue>SECRET <external_dialogue>S</external_dialogue>", "unclosed internal_monologue"),
        ("<internal_monologue>S</note><external_dialogue>S</external_dialogue>", "unclosed internal_monologue"),
        ("<internal_monologue>I say </internal_monologue> S <external_dialogue>S</external_dialogue>", "stray text"),
        ("S </user_whispers> <external_dialogue>S</external_dialogue>", "stray user_whispers"),
        ("S </external_dialogue> <external_dialogue>S</external_dialogue>", "stray external_dialogue"),
        ("<internal\u200b_monologue>S <external_dialogue>S</external_dialogue>", "lookalike tag"),
        ("<!-- <external_dialogue>S</external_dialogue> -->", "hidden comment"),
        ("<![CDATA[ <external_dialogue>S</external_dialogue>", "hidden comment"),
        ("<external_dialogue", "missing external_dialogue"),
    ):
        for pieces in (0, 1):
            released, output = parse(text, pieces=pieces)
            assert released == "", text
            assert output.reply is None, text
            assert output.reply_verb is None, text
            assert fault in output.faults, text


HOSTILE = [
    *("<", "<&", "&l", "&amp;", "<in", "< ", "<i\u200b", "&#105;", "<internal_monologue x", "<internal_monologue>"),
    *("\n", "</external_dialogue", "<external_dialogue>a </external_dialogue>", "a" * 50 + "<"),
    "<user_whispers>x</user_whispers>",
]


def test_work_grows_with_the_input_and_no_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0
    take, search = tags_module.Probe.take, tags_module.Tokenizer.feed

    def counting_take(probe: tags_module.Probe, character: str) -> object:
        nonlocal looked
        looked += 1
        return take(probe, character)

    def counting_feed(tokenizer: tags_module.Tokenizer, text: str) -> None:
        nonlocal looked
        looked += len(text)
        search(tokenizer, text)

    monkeypatch.setattr(tags_module.Probe, "take", counting_take)
    monkeypatch.setattr(tags_module.Tokenizer, "feed", counting_feed)
    for prefix in ("", "<external_dialogue>", "<internal_monologue>", "<external_dialogue><user_whispers>"):
        for hostile in HOSTILE:
            work = []
            for size in (2_000, 4_000):
                looked = 0
                parse((prefix + hostile * (size // len(hostile)))[:size])
                work.append(looked)
                assert looked <= 8 * size, (prefix, hostile)
            assert work[1] <= 2.2 * work[0] + 400, (prefix, hostile)


NAMES = "|".join(tag.replace("_", "[^a-z]*") for tag in KNOWN_TAGS)
TAG_LIKE = re.compile(f"[<\uff1c\ufe64\u2039]\\s*/?\\s*(?:{NAMES})", re.IGNORECASE)


def released_by(text: str, cuts: tuple[int, ...] = ()) -> tuple[str, TaggedOutput]:
    output = TaggedOutput()
    bounds = (0, *cuts, len(text))
    shown = "".join(output.feed(text[start:end]) for start, end in pairwise(bounds))
    return shown + output.finish(), output


def leaks(shown: str) -> bool:
    """Whether released text contains a canary or anything that reads as one of the known tags."""
    return CANARY in shown or bool(TAG_LIKE.search(shown))


def naive(text: str) -> str:
    """A naive parser: take the first match, else strip the tags."""
    match = re.search(rf"<{REPLY_TAG}[^>]*>(.*?)</{REPLY_TAG}>", text, re.DOTALL)
    return match[1].strip() if match else re.sub(r"<[^>]+>", "", text)


def check(text: str, cuts: tuple[int, ...]) -> int:
    """Parse an answer whole and cut and check the invariants; gives the length of the released reply."""
    whole, output = released_by(text)
    assert not leaks(whole), text
    if output.reply is not None:
        assert output.reply == whole
    assert output.complete == (output.reply is not None)
    pieces, other = released_by(text, cuts)
    assert pieces == whole, text
    assert (other.reply, other.faults, dict(other.elements)) == (output.reply, output.faults, dict(output.elements))
    return len(whole)


@pytest.mark.parametrize("outputs", [150, pytest.param(4_000, marks=pytest.mark.slow)])
def test_no_hostile_answer_releases_a_private_word(outputs: int) -> None:
    choice = chance.dice("hostile answers")
    author = Author(choice, reasons=False)
    talkative = naive_leaks = 0
    for number in range(outputs):
        text = author.answer()
        every_point = tuple(range(1, len(text)))
        some = tuple(sorted(choice.sample(range(len(text) + 1), min(3, len(text)))))
        talkative += check(text, some if number % 3 else every_point) > 0
        naive_leaks += leaks(naive(text))
    assert talkative > outputs // 20, "a parser that says nothing would pass"
    assert naive_leaks > outputs // 3, "the checker must catch a naive extractor"


FRAGMENTS = [
    *(f"<{tag}>" for tag in KNOWN_TAGS[:4]),
    *(f"</{tag}>" for tag in KNOWN_TAGS[:4]),
    *("<", ">", "/", "&lt;", "&", ";", "internal_", "monologue", "external_dialogue", " ", "\n", "verb="),
    *('"', "'", "`"),
    *("\u200b", "word", "<think>", "</think>", "<!--"),
]


@settings(max_examples=100)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=30))
@example(["<external_dialogue>", "<", "<calls_for>", "</calls_for>", "external_dialogue"])
@example(["<external_dialogue>a <inter", "<calls_for>", "</calls_for>", "nal_monologue"])
@example(["<external_dialogue>a < /", "<calls_for>", "</calls_for>", "internal monologue"])
def test_any_soup_of_fragments_shows_no_tag_and_the_same_for_every_cut(fragments: list[str]) -> None:
    text = "".join(fragments)
    check(text, tuple(range(1, len(text))))


@settings(max_examples=60)
@given(st.text(st.characters(exclude_characters=f"&{OPENERS}")))
def test_a_reply_without_brackets_is_released_unchanged(reply: str) -> None:
    shown, output = released_by(f"<internal_monologue>{CANARY}</internal_monologue><{REPLY_TAG}>{reply}</{REPLY_TAG}>")
    assert shown == (output.reply or "") == reply.strip()


def test_a_tag_reads_the_same_whole_and_letter_by_letter() -> None:
    forms = (
        *("<{}>", "</{}>", "< {}>", "<{}/>", "<{} >", "<{}x>", "<x{}>", "<{}_>", "<{} verb>", "<{}&gt;", "&lt;{}>"),
        *(
            '<{} verb="said">',
            '<{} verb="it\'s" id="a/b">',
            '</{} verb="&quot;">',
            '<{} verb="said"',
            '<{} verb="a<b">',
        ),
        *('<{} verb="said"/>', '<{} verb="said" verb="shouted">', '<{} verb="' + "x" * 2_000 + '">'),
    )
    for vocabulary in (VOCABULARY, REASONING):
        for name in vocabulary.names.values():
            for form in forms:
                text, whole, letters = f"a {form.format(name)} b", list[Token](), list[Token]()
                tags_module.Tokenizer(vocabulary, whole.append).feed(text)
                one_by_one = tags_module.Tokenizer(vocabulary, letters.append)
                for letter in text:
                    one_by_one.feed(letter)
                assert _joined(whole) == _joined(letters), text


def _joined(tokens: list[Token]) -> list[Token]:
    """The tokens, with texts that follow each other as one."""
    joined = list[Token]()
    for token in tokens:
        if joined and token.kind is joined[-1].kind is Kind.TEXT:
            joined[-1] = Token(Kind.TEXT, joined[-1].raw + token.raw)
        else:
            joined.append(token)
    return joined
