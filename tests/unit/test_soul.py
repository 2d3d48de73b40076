"""Souls: what a soul's folder can hold, how faults are reported, and that a broken edit keeps the last valid one."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from daemon.core.errors import SoulError
from daemon.core.working_memory import estimate_tokens
from daemon.processes import PROCESSES
from daemon.processes.subprocesses import SUBPROCESSES
from daemon.soul import (
    SIZE_CAP,
    Budgets,
    Contact,
    IsmLimits,
    KnownNames,
    Mode,
    Mood,
    Notes,
    ReloadingSoul,
    Soul,
    Souls,
    SpeakingFirst,
    Verbs,
    find_souls_directory,
    load_soul,
    load_souls,
)
from tests.fakes import Events

MANIFEST = 'name = "ea"\ndisplay_name = "Ea"\n'
MODE = (
    'description = "d"\nregisters = ["hymn", "work-song"]\nimage_domains = ["sea"]\ntriggers = ["They ask for it."]\n'
)
EVERYTHING = KnownNames(("engaged", "greeting", "academic"), ("models_the_visitor", "keeps_its_own_state"))


def write(root: Path, more: str = "", *, name: str = "ea", personality: str = "You are Ea.") -> Path:
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    manifest = MANIFEST.replace('name = "ea"', f'name = "{name}"', 1) + more
    (folder / "soul.toml").write_text(manifest, encoding="utf-8")
    (folder / "soul.md").write_text(personality, encoding="utf-8")
    return root


def add_mode(root: Path, name: str = "poetic", *, text: str = "You sing.", manifest: str | None = None) -> Path:
    folder = root / "ea" / name
    folder.mkdir(exist_ok=True)
    (folder / "soul.md").write_text(text, encoding="utf-8")
    if manifest is not None:
        (folder / "mode.toml").write_text(manifest, encoding="utf-8")
    return folder


def fault(root: Path, known: KnownNames | None = None, name: str = "ea") -> str:
    with pytest.raises(SoulError) as caught:
        load_soul(root, name, known)
    assert caught.value.hint
    return caught.value.message


def test_kothar_has_verbs_for_his_moods_and_modes_within_their_budgets_and_no_shipped_soul_names_a_place_or_person(
    tmp_path: Path,
) -> None:
    soul = load_soul(find_souls_directory(None, tmp_path, "minoan"), "minoan")
    assert [mode.name for mode in soul.modes] == ["academic", "poetic"]
    for mode in soul.modes:
        assert estimate_tokens(mode.personality) <= soul.budgets.mode == 1200
        assert mode.triggers
        assert mode.description
    academic, poetic = soul.mode("academic"), soul.mode("poetic")
    assert academic is not None
    assert poetic is not None
    assert all(f"after {name}" in academic.personality for name in ("Cyrus Gordon", "Michael Astour", "Jane Harrison"))
    assert all(f"- **{register.capitalize()}**:" in poetic.personality for register in poetic.registers)
    assert all(f"*{domain}*" in poetic.personality.lower() for domain in poetic.image_domains)
    assert soul.rest_state == "neutral"
    assert [state for state, _ in soul.verbs.when] == list(soul.emotional_states[1:]), "verbs for every other mood"
    for name in ("minoan", "plain"):
        soul = load_soul(find_souls_directory(None, tmp_path, name), name, KnownNames(PROCESSES, SUBPROCESSES))
        assert (soul.name, soul.channels, soul.contacts) == (name, (), ())
        assert soul.awakening, name
        assert estimate_tokens(soul.personality) <= 1100, name


def test_a_small_soul_gets_sensible_defaults_and_verbs_follow_the_mood(tmp_path: Path) -> None:
    soul = load_soul(write(tmp_path), "ea")
    assert (soul.display_name, soul.personality, soul.pipeline) == ("Ea", "You are Ea.", "unified")
    assert soul.budgets == Budgets()
    assert soul.budgets.of("person") == 300
    assert soul.budgets.of("playbook") == soul.budgets.other
    assert soul.verbs.speech[0] == "said"
    assert soul.creativity_of("brainstorm", 0.9) == 0.9
    with pytest.raises(ValueError, match="frozen"):
        soul.personality = "You are evil."  # type: ignore[misc]  # the point of the test
    assert isinstance(hash(soul), int)
    assert isinstance(soul, Soul)
    soul = load_soul(write(tmp_path), "ea")
    assert (soul.processes, soul.channels, soul.modes, soul.contacts) == ((), (), (), ())
    assert soul.subprocesses == (
        "looks_at_what_was_shown",
        "models_the_visitor",
        "keeps_its_own_state",
        "thinks_the_matter_over",
        "summarizes_the_conversation",
        "closes_the_visit",
    )
    assert soul.presence == SpeakingFirst(speaks_when_dormant=False, says_farewell=False)
    assert soul.ism == IsmLimits(enabled=None, max_loops=None, max_tokens=None, max_usd=None, max_seconds=None)
    assert (soul.ism.expert, soul.mood, soul.rest_state) == ("academic", Mood(half_life_minutes=120), "neutral")
    assert soul.notes == Notes(min_interactions=2, most_lost=0.34, whispers=True)
    assert soul.budgets.mode == 1200
    assert soul.may_be("anything")
    assert soul.mode("poetic") is None
    more = (
        'emotional_states = ["calm", "very cross"]\n[verbs]\nspeech = ["said"]\nthought = ["thought"]\n'
        '[verbs.when."very cross"]\nspeech = ["snapped"]\n[verbs.when.calm]\nthought = ["mused"]\n'
    )
    soul = load_soul(write(tmp_path, more), "ea")
    assert soul.verbs_in("very cross") == Verbs(speech=("snapped",), thought=("thought",))
    assert soul.verbs_in("calm") == Verbs(speech=("said",), thought=("mused",))
    assert soul.verbs_in("unheard of") == Verbs(speech=("said",), thought=("thought",))
    assert soul.private_verbs == ("thought", "mused")


def test_every_field_can_be_set_and_a_soul_has_a_name_that_leads_nowhere(tmp_path: Path) -> None:
    manifest = (
        'description = "d"\npipeline = "split"\nemotional_states = ["calm"]\nicon = "https://example.org/e.png"\n'
        '[models]\npersona = "groq/x"\n[budgets]\nthread = 9\n[creativity]\nrespond = 1\n[verbs]\nspeech = ["sang"]\n'
    )
    soul = load_soul(write(tmp_path, manifest), "ea")
    assert (soul.pipeline, soul.models.persona, soul.models.thinking) == ("split", "groq/x", "")
    assert (soul.budgets.thread, soul.verbs.speech, soul.emotional_states) == (9, ("sang",), ("calm",))
    assert soul.creativity_of("respond", None) == 1.0
    roles = '[roles."Senior Dev"]\nprocesses = ["problem_solving"]\nepistemic_modes = ["assert", "caution"]\n'
    soul = load_soul(write(tmp_path, roles), "ea")
    found = soul.role_in("problem_solving")
    assert found is not None
    assert (found[0], found[1].epistemic_modes) == ("Senior Dev", ("assert", "caution"))
    assert soul.role_in("engaged") is None
    twice = f'{roles}[roles.Friend]\nprocesses = ["problem_solving"]\n'
    assert "a process has one role" in fault(write(tmp_path, twice))
    unknown = '[roles.Friend]\nprocesses = ["engagd"]\n'
    with pytest.raises(SoulError, match="did you mean 'engaged'"):
        load_soul(write(tmp_path, unknown), "ea", KnownNames(("engaged",), ()))
    for nod in ("", "thumbsup", "+1", "wave::skin-tone-3"):
        assert load_soul(write(tmp_path, f'[presence]\nnod = "{nod}"\n'), "ea").presence.nod == nod
    for nod in (":thumbsup:", "Thumbs up", "eyes", "a" * 101, "wave::skin-tone-9"):
        refused = fault(write(tmp_path, f'[presence]\nnod = "{nod}"\n'))
        assert "nod" in refused, nod
        assert "the name of an emoji without its colons" in refused, nod
    for name in ("", "..", "../ea", "Ea", "/etc", "a/b", "a" * 65):
        assert "can't be a soul's name" in fault(write(tmp_path), name=name), name
    more = (
        'icon = ":amphora:"\nprocesses = ["engaged", "academic"]\nsubprocesses = []\nchannels = ["C0123ABC", "G77"]\n'
        "[mood]\nhalf_life_minutes = 5\n[presence]\nspeaks_when_dormant = true\nsays_farewell = true\n"
        "[notes]\nmost_lost = 0\nmin_interactions = 0\nwhispers = false\n"
        '[ism]\nenabled = true\nmax_loops = 3\nmax_tokens = 9\nmax_usd = 1\nmax_seconds = 2.5\nexpert = "engaged"\n'
        '[[contacts]]\nname = "Ada"\nslack = "U0ADA"\ncan = "opens doors"\n'
    )
    soul = load_soul(write(tmp_path, more), "ea", EVERYTHING)
    assert (soul.icon, soul.processes, soul.subprocesses) == (":amphora:", ("engaged", "academic"), ())
    assert soul.channels == ("C0123ABC", "G77")
    assert soul.may_be("engaged")
    assert not soul.may_be("greeting")
    assert soul.mood.half_life_minutes == 5
    assert soul.presence == SpeakingFirst(speaks_when_dormant=True, says_farewell=True)
    assert soul.notes == Notes(most_lost=0.0, min_interactions=0, whispers=False)
    limits = soul.ism
    assert (limits.enabled, limits.max_loops, limits.max_tokens, limits.max_usd) == (True, 3, 9, 1.0)
    assert (limits.max_seconds, limits.expert) == (2.5, "engaged")
    assert soul.contacts == (Contact(name="Ada", slack="U0ADA", can="opens doors"),)
    assert isinstance(hash(soul), int)


FIELD_FAULTS = [
    ('icon = "amphora"', "soul.toml:3 icon: must be :emoji: or an address that begins with https://"),
    ('icon = "http://example.org/e.png"', "soul.toml:3 icon: must be"),
    ('icon = "https://example.org/<b>"', "soul.toml:3 icon: must be"),
    ('processes = ["Engaged"]', "soul.toml:3 processes.0: must be a name of lower-case letters"),
    ('processes = ["a", "a"]', "soul.toml:3 processes: names 'a' twice"),
    ('subprocesses = ["b", "b"]', "soul.toml:3 subprocesses: names 'b' twice"),
    ('channels = ["#general"]', "soul.toml:3 channels.0: must be a Slack channel's id"),
    ('channels = ["D0123"]', "soul.toml:3 channels.0: must be a Slack channel's id"),
    ('channels = ["C0123", "C0123"]', "soul.toml:3 channels: names 'C0123' twice"),
    ('emotional_states = ["calm", "calm"]', "soul.toml:3 emotional_states: names 'calm' twice"),
    ('modes = ["poetic"]', "soul.toml:3 modes: belong into folders"),
    ("[presence]\nshouts = true", "soul.toml:4 presence.shouts: Extra inputs"),
    ("[mood]\nhalf_life_minutes = 0", "soul.toml:4 mood.half_life_minutes:"),
    ("[mood]\nhalf_life_minutes = inf", "soul.toml:4 mood.half_life_minutes:"),
    ("[notes]\nmost_lost = 1.1", "soul.toml:4 notes.most_lost:"),
    ("[notes]\nmost_lost = nan", "soul.toml:4 notes.most_lost:"),
    ("[ism]\nmax_loops = 51", "soul.toml:4 ism.max_loops:"),
    ("[ism] # its limits\n\n  max_seconds=-1", "soul.toml:5 ism.max_seconds:"),
    ('[ism]\nexpert = "Dr Who"', "soul.toml:4 ism.expert:"),
    ("[verbs]\nspeech = [\n 'said',\n '7'\n]", "soul.toml:4 verbs.speech.1: must be a word"),
    ("[verbs]\nthought = ['turned over']", "soul.toml:4 verbs.thought.0: must be a single word"),
    ("verbs.speech = []", "soul.toml:3 verbs.speech:"),
    ("[verbs.when.cross]\nspeech = ['said']", "soul.toml:3 verbs.when.cross: 'cross' is none of emotional_states"),
    ("[verbs.when.neutral]\nspeech = ['!']", "soul.toml:4 verbs.when.neutral.speech.0: must be a word"),
    ("[verbs.when.neutral]\nhue = 'red'", "soul.toml:4 verbs.when.neutral.hue: Extra inputs"),
    ("[verbs.when.neutral]\nspeech = ['a', 'a']", "soul.toml:4 verbs.when.neutral.speech: names 'a' twice"),
    ("[verbs]\nwhen = 3", "soul.toml:4 verbs.when:"),
    ("[verbs]\nspeech = ['mused']", "soul.toml:4 verbs.speech: 'mused' is a verb of thought too"),
    ("[verbs.when.neutral]\nspeech = ['thought']", "soul.toml:4 verbs.when.neutral.speech: 'thought' is a verb of"),
    ('processes = ["engaged"]\n[ism]\nexpert = "academic"', "soul.toml:5 ism.expert: 'academic' is none of this"),
    ('[[contacts]]\nname = "Ada"\nslack = "@ada"\ncan = "x"', "soul.toml:5 contacts.0.slack: must be the Slack id"),
    ('[[contacts]]\nname = "Ada"\nslack = "U12"', "soul.toml:3 contacts.0.can: Field required"),
    ('[[contacts]]\nname = "A\\nB"\nslack = "U12"\ncan = "x"', "soul.toml:4 contacts.0.name: must be one line"),
    ('[[contacts]]\nname = " "\nslack = "U12"\ncan = "x"', "soul.toml:4 contacts.0.name: must be one line"),
]


def test_every_fault_is_reported_at_once_with_file_line_and_field(tmp_path: Path) -> None:
    manifest = (
        'name = "enki"\ndisplay_name = "Ea"\npipeline = "both"\ncolour = "red"\n'
        'personality = "x"\n[budgets]\n# a comment\nthread = "much"\n[creativity]\nrespond = 2\n'
    )
    (write(tmp_path, personality="  \n") / "ea" / "soul.toml").write_text(manifest)
    message = fault(tmp_path)
    for part in (
        "soul.toml:1 name: must be 'ea'",
        "soul.toml:3 pipeline:",
        "soul.toml:4 colour:",
        "soul.toml:5 personality: belongs into soul.md",
        "soul.toml:8 budgets.thread:",
        "soul.toml:9 creativity:",
        "soul.md: is empty",
    ):
        assert part in message
    (write(tmp_path) / "ea" / "soul.toml").write_text('name = "ea"\n')
    assert "soul.toml display_name: Field required" in fault(tmp_path)
    broken = "[verbs]\nspeech = []\n"
    assert "soul.toml:4 verbs.speech:" in fault(write(tmp_path, broken))
    assert "creativity" in fault(write(tmp_path, "creativity = 3\n"))
    assert "line 3" in fault(write(tmp_path, "pipeline = \n"))
    for more, message in FIELD_FAULTS:
        assert message in fault(write(tmp_path, more + "\n"))
    one = '[[contacts]]\nname = "{}"\nslack = "{}"\ncan = "x"\n'
    more = one.format("Ada", "U12") + one.format("Bo", "nobody")
    assert "soul.toml:9 contacts.1.slack:" in fault(write(tmp_path, more))
    more = one.format("Ada", "U12") + one.format("ADA", "U13")
    assert "soul.toml:3 contacts: two are called 'ada'" in fault(write(tmp_path, more))
    assert "nested too deeply" in fault(write(tmp_path, f"a = {'[' * 100_000}"))
    assert "is not valid TOML" in fault(write(tmp_path, f"a = {'9' * 5000}"))
    more = 'processes = ["gretting", "academic"]\nsubprocesses = ["x"]\n[ism]\nexpert = "academia"\n'
    message = fault(write(tmp_path, more), EVERYTHING)
    assert "soul.toml:3 processes: there is no process 'gretting'; did you mean 'greeting'?" in message
    assert "soul.toml:4 subprocesses: there is no subprocess 'x'; there are keeps_its_own_state, models_the" in message
    assert "soul.toml:6 ism.expert: there is no process 'academia'; did you mean 'academic'?" in message


def test_modes_are_the_folders_with_a_soul_md_or_mode_toml(tmp_path: Path) -> None:
    write(tmp_path)
    add_mode(tmp_path, "poetic", manifest=MODE)
    add_mode(tmp_path, "academic", text="You read.\n")
    (tmp_path / "ea" / "drafts").mkdir()
    (tmp_path / "ea" / "drafts" / "notes.md").write_text("later")
    soul = load_soul(tmp_path, "ea")
    assert soul.mode("academic") == Mode(name="academic", personality="You read.")
    assert soul.mode("poetic") == Mode(
        name="poetic",
        personality="You sing.",
        description="d",
        registers=("hymn", "work-song"),
        image_domains=("sea",),
        triggers=("They ask for it.",),
    )
    assert len(soul.modes) == 2


MODE_FAULTS = [
    ("registers = ['ok', 7]", "poetic/mode.toml:1 registers.1:"),
    ("\nimage_domains = ['sea', 'sea']", "poetic/mode.toml:2 image_domains: names 'sea' twice"),
    ("triggers = ['''a\nb''']", "poetic/mode.toml:1 triggers.0: must be one line"),
    ("colour = 'red'", "poetic/mode.toml:1 colour: Extra inputs"),
    ("name = 'prose'", "poetic/mode.toml:1 name: belongs to the folder"),
    ("personality = 'x'", "poetic/mode.toml:1 personality: belongs into soul.md"),
    ("registers = ", "poetic/mode.toml is not valid TOML"),
]


def test_a_fault_in_a_mode_is_reported_with_its_own_file_together_with_those_of_the_soul(tmp_path: Path) -> None:
    write(tmp_path)
    for manifest, message in MODE_FAULTS:
        add_mode(tmp_path, manifest=manifest)
        assert message in fault(tmp_path)
    (add_mode(tmp_path, manifest=MODE) / "soul.md").unlink()
    assert "poetic/soul.md can't be read" in fault(tmp_path)
    add_mode(write(tmp_path, "pipeline = 3\n"), manifest="colour = 1\n")
    add_mode(tmp_path, "academic", text=" \n")
    add_mode(tmp_path, "Ünfit")
    message, field, mode = fault(tmp_path), "soul.toml:3 pipeline:", "poetic/mode.toml:1 colour:"
    for part in (field, mode, "academic/soul.md: is empty", "Ünfit/: can't be"):
        assert part in message


def test_texts_beyond_their_budgets_and_more_modes_than_the_most_are_refused(tmp_path: Path) -> None:
    write(tmp_path, personality="word " * 2000)
    assert "of 1200 that budgets.personality in soul.toml allows" in fault(tmp_path)
    write(tmp_path, "[budgets]\npersonality = 3000\n", personality="word " * 2000)
    assert load_soul(tmp_path, "ea").personality.startswith("word")
    add_mode(write(tmp_path), text="word " * 1200)
    assert "poetic/soul.md: has about 1500 tokens of 1200 that budgets.mode in soul.toml allows" in fault(tmp_path)
    write(tmp_path, "[budgets]\nmode = 1500\n")
    assert load_soul(tmp_path, "ea").mode("poetic") is not None
    write(tmp_path)
    for number in range(16):
        add_mode(tmp_path, f"mode{number}")
    assert "ea: has 17 modes; at most 16 are read" in fault(tmp_path)


HOSTILE: tuple[tuple[Callable[[Path], object], str], ...] = (
    (os.mkfifo, "not a regular file"),
    (Path.mkdir, "not a regular file"),
    (lambda file: file.symlink_to(file), "is a link"),
    (lambda file: file.symlink_to("/dev/zero"), "is a link"),
    (lambda file: file.write_bytes(b"#" * (SIZE_CAP + 1)), "more than 256 KiB"),
    (lambda file: file.write_bytes(b"#\n#\xff"), "2 is not UTF-8"),
)


def test_a_hostile_file_of_a_soul_or_a_mode_is_refused_without_waiting(tmp_path: Path) -> None:
    for number, (make, expected) in enumerate(HOSTILE):
        for name in ("soul.md", "poetic/soul.md", "poetic/mode.toml"):
            root = tmp_path / f"{number}{name[0]}{name[-1]}"
            add_mode(write(root), manifest=MODE)
            (root / "ea" / name).unlink()
            make(root / "ea" / name)
            message = fault(root)
            assert expected in message
            assert name in message
    (tmp_path / "ea").write_text("")
    assert "can't be read" in fault(tmp_path)


def test_no_link_is_followed_inside_the_directory(tmp_path: Path) -> None:
    for number, linked in enumerate(("ea/soul.md", "ea/soul.toml", "ea/stern/soul.md", "ea/stern", "ea")):
        for target in ("outside", "souls/other"):
            souls = tmp_path / f"{number}{target[:1]}" / "souls"
            souls.mkdir(parents=True)
            write(souls)
            (souls / "ea" / "stern").mkdir()
            (souls / "ea" / "stern" / "soul.md").write_text("You are stern.")
            assert load_soul(souls, "ea").modes
            (souls / linked).rename(souls.parent / target)
            (souls / linked).symlink_to(souls.parent / target)
            assert "is a link, or lies behind one" in fault(souls), (linked, target)
    (tmp_path / "linked").symlink_to(write(tmp_path))
    assert load_soul(tmp_path / "linked", "ea").personality == "You are Ea.", "the directory itself is the admin's"


@given(manifest=st.text(max_size=200), mode=st.binary(max_size=200))
@example(manifest="[verbs.when]\n0 = 1", mode=b"")
@example(manifest="[[verbs]]\n[[verbs]]", mode=b"[[registers]]")
@example(manifest="creativity = {x = 'y'}", mode=b"registers = {a = 1}")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_files_give_a_soul_or_a_soul_error(manifest: str, mode: bytes, tmp_path: Path) -> None:
    folder = add_mode(write(tmp_path, manifest))
    (folder / "mode.toml").write_bytes(mode)
    try:
        outcome = load_soul(tmp_path, "ea").name
    except SoulError as error:
        outcome = error.hint
    assert outcome


def touch(root: Path, moment: int) -> None:
    """Give all files a new modification time, even on a file system with a coarse clock."""
    for file in root.rglob("*"):
        os.utime(file, ns=(moment * 10**18, moment * 10**18))


def test_a_broken_edit_keeps_the_last_valid_soul_and_is_reported_once(tmp_path: Path) -> None:
    events = Events()
    watched = ReloadingSoul(write(tmp_path), "ea", events)
    touch(write(tmp_path, "pipeline = 3\n"), 1)
    assert watched.current().personality == "You are Ea."
    touch(tmp_path, 2)
    watched.current()
    assert events.names == ["soul.broken"]
    assert "soul.toml:3 pipeline" in str(events.emitted[0][1]["reason"])
    (tmp_path / "ea" / "soul.md").unlink()
    assert watched.current().personality == "You are Ea."
    touch(write(tmp_path, personality="Mended."), 3)
    assert watched.current().personality == "Mended."
    assert watched.current() is watched.current(), "an edit is reloaded once"
    (tmp_path / "ea").rename(tmp_path / "gone")
    assert watched.current().personality == "Mended."
    (tmp_path / "gone").rename(tmp_path / "ea")
    assert watched.current().personality == "Mended."
    assert events.names == ["soul.broken", "soul.broken", "soul.reloaded", "soul.broken", "soul.reloaded"]


def test_edits_of_modes_are_followed_live(tmp_path: Path) -> None:
    events = Events()
    write(tmp_path)
    watched = ReloadingSoul(tmp_path, "ea", events)
    assert watched.current().modes == ()
    folder = add_mode(tmp_path)
    assert [mode.personality for mode in watched.current().modes] == ["You sing."]
    (folder / "soul.md").write_text("You sing louder.")
    touch(tmp_path, 1)
    assert [mode.personality for mode in watched.current().modes] == ["You sing louder."]
    (folder / "mode.toml").write_text(MODE)
    touch(tmp_path, 2)
    assert watched.current().modes[0].registers == ("hymn", "work-song")
    folder.rename(tmp_path / "ea" / "lyric")
    assert [mode.name for mode in watched.current().modes] == ["lyric"]
    (tmp_path / "ea" / "lyric" / "soul.md").unlink()
    (tmp_path / "ea" / "lyric" / "mode.toml").unlink()
    assert watched.current().modes == ()
    assert events.names == ["soul.reloaded"] * 5


def test_souls_are_searched_in_the_setting_then_beside_the_data_then_as_shipped(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "souls").mkdir(parents=True)
    shipped = find_souls_directory(None, home, "plain")
    assert (shipped / "plain" / "soul.md").is_file()
    write(home / "souls")
    assert find_souls_directory(None, home, "ea") == home / "souls"
    assert find_souls_directory(home / "souls", tmp_path, "ea") == home / "souls"
    with pytest.raises(SoulError, match="no soul 'plain'") as caught:
        find_souls_directory(home / "souls", home, "plain")
    assert "SOUL_SOULS_DIR" in caught.value.hint
    with pytest.raises(SoulError):
        ReloadingSoul(tmp_path, "ea", Events())


def household(root: Path, events: Events) -> Souls:
    write(root)
    write(root, 'channels = ["C111"]\n', name="bel")
    write(root, 'channels = ["C222", "G333"]\n', name="sin")
    return Souls(lambda _: root, "ea", ("bel", "sin", "ea"), events)


def test_a_channel_belongs_to_one_soul_follows_edits_and_every_other_belongs_to_the_main_one(tmp_path: Path) -> None:
    events = Events()
    souls = household(tmp_path, events)
    assert (souls.main, souls.names) == ("ea", ("ea", "bel", "sin"))
    owners = [souls.for_channel(channel) for channel in ("C111", "C222", "G333", "C999", "D111", "")]
    assert owners == ["bel", "sin", "sin", "ea", "ea", "ea"]
    assert souls.current("sin").name == "sin"
    with pytest.raises(SoulError, match="'nergal' is not hosted here") as caught:
        souls.current("nergal")
    assert "SOUL_SOULS" in caught.value.hint
    touch(write(tmp_path, 'channels = ["C444"]\n', name="bel"), 1)
    assert [souls.for_channel(channel) for channel in ("C111", "C444")] == ["ea", "bel"]
    touch(write(tmp_path, 'channels = ["C444"]\n', name="sin"), 2)
    assert [souls.for_channel(channel) for channel in ("C222", "C444")] == ["sin", "bel"]
    assert events.names.count("soul.broken") == 1
    assert "both name C444" in str(events.emitted[-1][1]["reason"])
    touch(write(tmp_path, "", name="bel"), 3)
    assert souls.for_channel("C444") == "sin"


def test_two_souls_in_one_channel_are_an_error_and_each_is_loaded_from_its_own_directory(tmp_path: Path) -> None:
    write(tmp_path, 'channels = ["C111"]\n')
    write(tmp_path, 'channels = ["C110", "C111"]\n', name="bel")
    both = r"ea/soul\.toml channels and bel/soul\.toml channels both name C111"
    with pytest.raises(SoulError, match=both):
        Souls(lambda _: tmp_path, "ea", ("bel",), Events())
    with pytest.raises(SoulError, match=both):
        load_souls(lambda _: tmp_path, ("ea", "bel"))
    assert [soul.name for soul in load_souls(lambda _: tmp_path, ("bel", "bel"))] == ["bel"]
    places = {"ea": write(tmp_path / "here"), "bel": write(tmp_path / "there", name="bel")}
    assert Souls(places.__getitem__, "ea", ("bel",), Events()).current("bel").name == "bel"
