"""Souls: what makes one valid, how faults are reported, and that a broken edit keeps the last valid one."""

import os
from pathlib import Path

import pytest

from daemon.core.errors import SoulError
from daemon.soul import SIZE_CAP, Budgets, KnownNames, ReloadingSoul, Soul, find_souls_directory, load_soul
from tests.fakes import Events

MANIFEST = 'name = "ea"\ndisplay_name = "Ea"\n'


def write(root: Path, manifest: str = MANIFEST, personality: str = "You are Ea.") -> Path:
    folder = root / "ea"
    folder.mkdir(exist_ok=True)
    (folder / "soul.toml").write_text(manifest, encoding="utf-8")
    (folder / "soul.md").write_text(personality, encoding="utf-8")
    return root


def fault(root: Path, name: str = "ea") -> SoulError:
    with pytest.raises(SoulError) as caught:
        load_soul(root, name)
    assert caught.value.hint
    return caught.value


def test_a_small_soul_gets_sensible_defaults(tmp_path: Path) -> None:
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


def test_a_nod_and_all_else_can_be_set_and_a_soul_has_a_name_that_leads_nowhere(tmp_path: Path) -> None:
    manifest = (
        MANIFEST
        + 'description = "d"\npipeline = "split"\nemotional_states = ["calm"]\nicon = "https://example.org/e.png"\n'
        + '[models]\npersona = "groq/x"\n[budgets]\nthread = 9\n[creativity]\nrespond = 1\n[verbs]\nspeech = ["sang"]\n'
    )
    soul = load_soul(write(tmp_path, manifest), "ea")
    assert (soul.pipeline, soul.models.persona, soul.models.thinking) == ("split", "groq/x", "")
    assert (soul.budgets.thread, soul.verbs.speech, soul.emotional_states) == (9, ("sang",), ("calm",))
    assert soul.creativity_of("respond", None) == 1.0
    roles = '[roles."Senior Dev"]\nprocesses = ["problem_solving"]\nepistemic_modes = ["assert", "caution"]\n'
    soul = load_soul(write(tmp_path, MANIFEST + roles), "ea")
    found = soul.role_in("problem_solving")
    assert found is not None
    assert (found[0], found[1].epistemic_modes) == ("Senior Dev", ("assert", "caution"))
    assert soul.role_in("engaged") is None
    twice = f'{MANIFEST}{roles}[roles.Friend]\nprocesses = ["problem_solving"]\n'
    assert "a process has one role" in fault(write(tmp_path, twice)).message
    unknown = f'{MANIFEST}[roles.Friend]\nprocesses = ["engagd"]\n'
    with pytest.raises(SoulError, match="did you mean 'engaged'"):
        load_soul(write(tmp_path, unknown), "ea", KnownNames(("engaged",), ()))
    for nod in ("", "thumbsup", "+1", "wave::skin-tone-3"):
        assert load_soul(write(tmp_path, f'{MANIFEST}[presence]\nnod = "{nod}"\n'), "ea").presence.nod == nod
    for nod in (":thumbsup:", "Thumbs up", "eyes", "a" * 101, "wave::skin-tone-9"):
        refused = fault(write(tmp_path, f'{MANIFEST}[presence]\nnod = "{nod}"\n')).message
        assert "nod" in refused, nod
        assert "the name of an emoji without its colons" in refused, nod
    for name in ("", "..", "../ea", "Ea", "/etc", "a/b", "a" * 65):
        assert "can't be a soul's name" in fault(write(tmp_path), name).message, name


def test_every_fault_is_reported_at_once_with_its_place(tmp_path: Path) -> None:
    manifest = (
        'name = "enki"\ndisplay_name = "Ea"\npipeline = "both"\ncolour = "red"\n'
        'personality = "x"\n[budgets]\n# a comment\nthread = "much"\n[creativity]\nrespond = 2\n'
    )
    message = fault(write(tmp_path, manifest, "  \n")).message
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
    assert "soul.toml display_name: Field required" in fault(write(tmp_path, 'name = "ea"\n')).message
    broken = MANIFEST + "[verbs]\nspeech = []\n"
    assert "soul.toml:4 verbs.speech:" in fault(write(tmp_path, broken)).message
    assert "creativity" in fault(write(tmp_path, MANIFEST + "creativity = 3\n")).message
    assert "line 3" in fault(write(tmp_path, MANIFEST + "pipeline = \n")).message


def test_a_file_that_is_not_regular_too_long_huge_or_foreign_is_refused_without_waiting(tmp_path: Path) -> None:
    write(tmp_path, personality="word " * 2000)
    assert "of 1200 that budgets.personality in soul.toml allows" in fault(tmp_path).message
    write(tmp_path, MANIFEST + "[budgets]\npersonality = 3000\n", "word " * 2000)
    assert load_soul(tmp_path, "ea").personality.startswith("word")
    write(tmp_path, personality="x" * (SIZE_CAP + 1))
    assert "more than 256 KiB" in fault(tmp_path).message
    (tmp_path / "ea" / "soul.md").write_bytes(b"one\ntwo \xff\n")
    assert "soul.md:2 is not UTF-8" in fault(tmp_path).message
    write(tmp_path)
    file = tmp_path / "ea" / "soul.md"
    file.unlink()
    assert "can't be read" in fault(tmp_path).message
    os.mkfifo(file)
    assert "not a regular file" in fault(tmp_path).message
    file.unlink()
    file.mkdir()
    assert "not a regular file" in fault(tmp_path).message


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
            assert "is a link, or lies behind one" in fault(souls).message, (linked, target)
    (tmp_path / "linked").symlink_to(write(tmp_path))
    assert load_soul(tmp_path / "linked", "ea").personality == "You are Ea.", "the directory itself is the admin's"


def touch(root: Path, moment: int) -> None:
    """Give both files a new modification time, even on a file system with a coarse clock."""
    for file in (root / "ea").iterdir():
        os.utime(file, ns=(moment, moment))


def test_a_broken_edit_keeps_the_last_valid_soul_and_is_reported_once(tmp_path: Path) -> None:
    events = Events()
    watched = ReloadingSoul(write(tmp_path), "ea", events)
    touch(write(tmp_path, MANIFEST + "pipeline = 3\n"), 10**18)
    assert watched.current().personality == "You are Ea."
    touch(tmp_path, 2 * 10**18)
    watched.current()
    assert events.names == ["soul.broken"]
    assert "soul.toml:3 pipeline" in str(events.emitted[0][1]["reason"])
    (tmp_path / "ea" / "soul.md").unlink()
    assert watched.current().personality == "You are Ea."
    touch(write(tmp_path, personality="Mended."), 3 * 10**18)
    assert watched.current().personality == "Mended."
    assert watched.current() is watched.current(), "an edit is reloaded once"
    assert events.names == ["soul.broken", "soul.broken", "soul.reloaded"]


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
