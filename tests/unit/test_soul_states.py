"""The texts of a soul's folder that replace the house's: `states/*.md`, `playbook.md`, `[words]`; and their faults."""

import ast
import re
from pathlib import Path
from tempfile import mkdtemp

import pytest

from daemon.core.errors import SoulError
from daemon.core.sentences import SENTENCES, Sentence, Words, checked, placeholders_in
from daemon.mind.stances import HOUSE, stance_of
from daemon.processes import PROCESSES
from daemon.processes.subprocesses import SUBPROCESSES
from daemon.soul import PLACEHOLDERS, KnownNames, ReloadingSoul, Soul, load_soul
from tests.fakes import Events

ROOT = Path(__file__).parents[2]
KNOWN = KnownNames(PROCESSES, SUBPROCESSES)
MANIFEST = 'name = "ea"\ndisplay_name = "Ea"\n'


def write(root: Path, words: str = "", **files: str) -> Path:
    """A soul with a section of words and further files; `__` in a name stands for a folder, `_md` for the ending."""
    folder = root / "ea"
    (folder / "states").mkdir(parents=True, exist_ok=True)
    (folder / "soul.toml").write_text(MANIFEST + words, encoding="utf-8")
    (folder / "soul.md").write_text("You are Ea.", encoding="utf-8")
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_md", ".md")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def load(root: Path) -> Soul:
    return load_soul(root, "ea", KNOWN)


def fault(root: Path) -> str:
    with pytest.raises(SoulError) as caught:
        load(root)
    return caught.value.message


def test_a_states_file_replaces_the_houses_stance_and_no_other(tmp_path: Path) -> None:
    assert set(HOUSE) == set(PROCESSES)
    held = {state: tuple(re.findall(r"\{(\w+)\}", text)) for state, text in HOUSE.items()}
    assert {state: names for state, names in held.items() if names} == dict(PLACEHOLDERS)
    soul = load(write(tmp_path, states__greeting_md="Offer them bread.\n", playbook_md="Ask the sea first."))
    assert stance_of(soul, "greeting") == "Offer them bread."
    assert stance_of(soul, "curious") == HOUSE["curious"]
    assert soul.playbook == "Ask the sea first."
    stance = 'After {pause}: ask about {"a": 1} and {Upper}.'
    soul = load(write(tmp_path, states__returning_md=stance))
    assert stance_of(soul, "returning", pause="{number} days", number="3") == stance.replace("{pause}", "{number} days")


def test_a_fault_in_a_file_or_in_the_words_names_its_place_and_what_to_do(tmp_path: Path) -> None:
    for file, text, said in (
        ("states__greetin_md", "Hello.", "states/greetin.md: there is no state 'greetin'; did you mean greeting.md?"),
        ("states__sleepless_md", "Hello.", "states/sleepless.md: there is no state 'sleepless'; there are academic, "),
        (
            "states__greeting.txt",
            "Hello.",
            "states/greeting.txt: is not read; a stance is a text file called <state>.md",
        ),
        ("states__soul_md", "Hello.", "states/soul.md: there is no state 'soul'"),
        ("states__greeting_md", " \n", "states/greeting.md: is empty; write the stance, or remove the file"),
        ("states__ready_md", "Be kind.", "states/ready.md: lacks {contacts}, where the daemon puts what only it knows"),
        (
            "states__returning_md",
            "Hello.\nAfter {pauses}",
            "states/returning.md:2: {pauses} is no placeholder of this state; there is {pause}, {number}",
        ),
        (
            "states__curious_md",
            "{contacts}",
            "states/curious.md:1: {contacts} is no placeholder of this state; there is none",
        ),
        ("states__curious_md", "word " * 2_000, "that budgets.state in soul.toml allows"),
        ("awakening_md", "This is what you are. " * 9_000, "that budgets.awakening in soul.toml allows"),
        ("awakening_md", "x" * 300_000, "awakening.md has more than 256 KiB"),
        ("playbook_md", "Look before you leap. " * 2_000, "that budgets.playbook in soul.toml allows"),
    ):
        assert said in fault(write(Path(mkdtemp(dir=tmp_path)), **{file: text}))
    for words, said in (
        (
            '[words.de]\nthinkin = "x"',
            "soul.toml:4 words.de.thinkin: there is no sentence 'thinkin'; did you mean 'thinking'?",
        ),
        ('[words]\nzzz = "x"', "soul.toml:4 words.zzz: there is no sentence 'zzz'; see `soul settings --soul`"),
        (
            '[words.German]\nthinking = "x"',
            "soul.toml:3 words.German: 'German' is no language; write its tag in small letters",
        ),
        (
            '[words.de]\napology = "Oh: {what}"',
            "words.de.apology: lacks {advice}, {reference}, which the sentence is about",
        ),
        (
            '[words.de]\nallowed = "Ja, {name}."',
            "words.de.allowed: {name} is no placeholder of this sentence; it has none",
        ),
        ('[words.de]\nallowed = "{0.__class__}"', "words.de.allowed: holds braces that are no placeholder"),
        ('[words.de]\nallowed = "a } b"', "words.de.allowed: holds braces that are no placeholder"),
        ("[words.de]\nallowed = 3", "words.de.allowed: must be one line of text"),
        ('[words.de]\nallowed = "a\\nb"', "words.de.allowed: must be one line of text"),
        (f'[words.de]\napprove = "{"x" * 61}"', "words.de.approve: has 61 characters; at most 60 fit there"),
        ('words = "x"', "soul.toml:3 words: must be a table of sentences by their keys"),
    ):
        assert said in fault(write(Path(mkdtemp(dir=tmp_path)), words))


def test_a_link_too_many_states_and_a_misplaced_awakening_are_refused(tmp_path: Path) -> None:
    write(tmp_path, **{f"states__s{number}_md": "x" for number in range(65)})
    assert "states/: has 65 files; at most 64 are read" in fault(tmp_path)
    assert load(write(tmp_path / "other", **{"states__.DS_Store": "x"})).states == ()
    (tmp_path / "secret").write_text("a key", encoding="utf-8")
    (tmp_path / "other" / "ea" / "states" / "greeting.md").symlink_to(tmp_path / "secret")
    assert "is a link" in fault(tmp_path / "other")
    third = tmp_path / "third"
    assert load(write(third)).awakening == ""
    assert load(write(third, awakening_md="\nYou are. {x}\n")).awakening == "You are. {x}"
    (third / "ea" / "soul.toml").write_text(MANIFEST + 'awakening = "You are."\n', encoding="utf-8")
    assert "awakening: belongs into awakening.md" in fault(third)


def test_an_edit_of_a_state_or_of_the_playbook_is_followed_and_a_broken_one_keeps_the_last_soul(tmp_path: Path) -> None:
    events = Events()
    soul = ReloadingSoul(write(tmp_path), "ea", events, KNOWN)
    write(tmp_path, states__dormant_md="Hum.", playbook_md="Dive.", awakening_md="You are.")
    assert (soul.current().stance("dormant"), soul.current().playbook) == ("Hum.", "Dive.")
    assert soul.current().awakening == "You are."
    write(tmp_path, states__dorment_md="Hum louder.")
    assert soul.current().stance("dormant") == "Hum."
    (broken,) = events.named("soul.broken")
    assert "states/dorment.md: there is no state 'dorment'; did you mean dormant.md?" in str(broken["reason"])
    (tmp_path / "ea" / "states" / "dorment.md").unlink()
    (tmp_path / "ea" / "states" / "dormant.md").unlink()
    assert soul.current().stance("dormant") == ""


GERMAN = """
[words]
thinking = "hammers on it…"

[words.de]
thinking = "hämmert daran…"
apology = "Verzeih: {what}. {advice} ({reference})"

[words.de-at]
thinking = "hämmert a bisserl…"
"""


def test_words_follow_the_persons_language_then_the_souls_own(tmp_path: Path) -> None:
    for language, said in (
        ("", "hammers on it…"),
        ("en-US", "hammers on it…"),
        ("de-DE", "hämmert daran…"),
        ("de_DE", "hämmert daran…"),
        ("de-AT", "hämmert a bisserl…"),
        ("\x00", "hammers on it…"),
    ):
        words = load(write(tmp_path, GERMAN)).words_in(language)
        assert words.say("thinking") == said, language
        assert words.say("due") == SENTENCES["due"], "what has no words of its own is said in English"
    words = load(write(tmp_path, '[words.de]\nwhy_tokens = "mehr als {limit} Wörter"\nnote_dead = "Weg."')).words_in(
        "de"
    )
    assert words.tell(Sentence("why_tokens", limit=5)) == "mehr als 5 Wörter"
    assert words.tell("a text of its own") == "a text of its own"
    assert (words.reworded(SENTENCES["note_dead"]), words.reworded("{limit}")) == ("Weg.", "{limit}")
    assert (
        Words().say("apology", what="{reference}", advice="b", reference="c")
        == "I'm sorry: {reference}. b (Reference c)"
    )


@pytest.mark.parametrize(
    ("groups", "fault"),
    [
        ({"one": {"due": "Due."}, "two": {"due": "Due:"}}, "due occurs twice"),
        ({"one": {"due": " "}}, "due must be one line of text"),
        ({"one": {"due": "Due {}"}}, "due holds braces that are no placeholder"),
        ({"labels": {"due": "D" * 61}}, "due has 61 characters; at most 60 fit there"),
    ],
)
def test_the_table_of_sentences_is_checked_when_it_is_read(groups: dict[str, dict[str, str]], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        checked(groups)


def test_every_sentence_can_be_said_is_said_somewhere_and_is_in_the_one_table() -> None:
    nodes = [node for path in SOURCES for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    said = {node.value for node in nodes if isinstance(node, ast.Constant)}
    composed = [shape for node in nodes if isinstance(node, ast.JoinedStr) if FAMILY.fullmatch(shape := shape_of(node))]
    for key, text in SENTENCES.items():
        assert Words().say(key, **dict.fromkeys(placeholders_in(text), "x"))
        assert key in said or any(re.fullmatch(shape, key) for shape in composed), f"{key} is said nowhere"
    for place in PLACES:
        found = [
            f"{path.relative_to(ROOT)}: {text}"
            for path in (ROOT / "daemon" / place).rglob("*.py")
            for text in literals(path)
            if path.name not in NO_SPEECH and FIRST_PERSON.search(text)
        ]
        assert not found, place


SOURCES = sorted((ROOT / "daemon").rglob("*.py"))
FAMILY = re.compile(r"(?:\.\*|[a-z_])*[a-z_]{4}(?:\.\*|[a-z_])*")  # of keys, such as `note_.*`
PLACES = ("runtime", "ism", "processes", "channels/slack", "memory/queues")
NO_SPEECH = ("wishes.py",)  # what people may say
FIRST_PERSON = re.compile(r"(?<!:)\b(?:I|I'm|I'd|[Mm]y|[Mm]e)\b(?! \()")  # `:me` is a parameter of SQL


def shape_of(text: ast.JoinedStr) -> str:
    return "".join(str(part.value) if isinstance(part, ast.Constant) else ".*" for part in text.values)


def literals(path: Path) -> list[str]:
    """The texts of a module that are no docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    described = [node for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    docstrings = {id(node.value) for node in described}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
    ]
