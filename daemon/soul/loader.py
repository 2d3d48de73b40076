"""Reads and checks a soul's folder: `soul.toml`, its texts and its modes; reports all faults at once, with lines."""

import difflib
import tomllib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from daemon.core.errors import SoulError
from daemon.core.working_memory import estimate_tokens
from daemon.soul.files import (
    AWAKENING,
    MANIFEST,
    MODE_MANIFEST,
    PERSONALITY,
    PLAYBOOK,
    SHAPE_HINT,
    STATES,
    mode_folders,
    read_text,
)
from daemon.soul.room import overfull
from daemon.soul.schema import FOLDER_NAME, Mode, Soul
from daemon.soul.states import read_states
from daemon.soul.toml_positions import Manifest, Place
from daemon.soul.words import read_words

MOST_MODES = 16
_OPTIONAL = (("playbook", PLAYBOOK), ("awakening", AWAKENING))  # fields of a soul that are texts of their own
_NAME_HINT = "use lower-case letters, digits, - and _"


@dataclass(frozen=True, slots=True)
class KnownNames:
    """The names of all mental processes and subprocesses; a soul's file may name no others.

    `why_not` says of an extension why it can't be used; empty if it can.
    """

    processes: Collection[str]
    subprocesses: Collection[str]
    why_not: Callable[[str], str] = lambda name: f"nothing brings the action {name!r}"

    def unknown_in(self, soul: Soul) -> list[tuple[Place, str]]:
        """Every unknown name in a soul: its place, and the name that was perhaps meant."""
        known = (*self.processes,)
        named: list[tuple[Place, str, tuple[str, ...], Collection[str]]] = [
            (("processes",), "process", soul.processes, known),
            (("subprocesses",), "subprocess", soul.subprocesses, self.subprocesses),
        ]
        named += [(("roles", name, "processes"), "process", role.processes, known) for name, role in soul.roles]
        if "expert" in soul.ism.model_fields_set:
            named.append((("ism", "expert"), "process", (soul.ism.expert,), known))
        return [*self._faulty(soul), *self._unknown(named)]

    def _faulty(self, soul: Soul) -> Iterable[tuple[Place, str]]:
        """Every action of another package that can't be used."""
        for name in soul.extensions.actions:
            if why := self.why_not(name):
                yield ("extensions", "actions"), why

    @staticmethod
    def _unknown(named: Iterable[tuple[Place, str, tuple[str, ...], Collection[str]]]) -> list[tuple[Place, str]]:
        return [
            (place, f"there is no {kind} {name!r}; {_perhaps(name, known)}")
            for place, kind, names, known in named
            for name in names
            if name not in known
        ]


def _perhaps(name: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(name, sorted(known), n=1)
    return f"did you mean {close[0]!r}?" if close else f"there are {', '.join(sorted(known)) or 'none'}"


def load_soul(directory: Path, name: str, known: KnownNames | None = None) -> Soul:
    """Read the soul `name` from a directory of souls. Raises SoulError with every fault, its file, line and field.

    With `known` every process and subprocess that it names must exist.
    """
    if not FOLDER_NAME.fullmatch(name):
        raise SoulError(f"{name!r} can't be a soul's name", hint=_NAME_HINT)
    folder = directory / name
    manifest = _manifest(directory, folder / MANIFEST, MANIFEST)
    personality = read_text(directory, folder / PERSONALITY).strip()
    modes, faults = _modes(directory, folder)
    states, misfits = read_states(directory, folder, known.processes if known else None)
    words, misspelt = read_words(manifest.data.get("words"))
    faults = _misplaced(manifest, name) + faults + misfits + [manifest.fault(*one) for one in misspelt]
    texts = {"personality": personality, "modes": modes, "states": states}
    texts |= {field: _text(directory, folder / file) for field, file in _OPTIONAL}
    soul, more = _checked(manifest, {"name": name, "words": words, **texts}, known)
    faults += more
    if soul is None or faults:
        raise SoulError(f"the soul in {folder} is not valid: {'; '.join(faults)}", hint=SHAPE_HINT)
    return soul


def load_souls(find: Callable[[str], Path], names: Iterable[str], known: KnownNames | None = None) -> tuple[Soul, ...]:
    """Read the souls that one daemon hosts; `find` gives the directory that holds a soul's folder.

    Raises SoulError for a fault in any of them, and if two name the same channel.
    """
    souls = tuple(load_soul(find(name), name, known) for name in dict.fromkeys(names))
    channels_of(souls)
    return souls


def channels_of(souls: Iterable[Soul]) -> dict[str, str]:
    """The soul that answers in each channel, by channel id. Raises SoulError if two name the same channel."""
    owners: dict[str, str] = {}
    for soul in souls:
        for channel in soul.channels:
            if (owner := owners.setdefault(channel, soul.name)) != soul.name:
                raise SoulError(
                    f"{owner}/{MANIFEST} channels and {soul.name}/{MANIFEST} channels both name {channel}",
                    hint="one soul answers in a channel: take the id out of one of them",
                )
    return owners


def _manifest(root: Path, path: Path, called: str) -> Manifest:
    text = read_text(root, path)
    try:
        return Manifest(called, text, tomllib.loads(text))
    except (ValueError, RecursionError) as error:  # also numbers of thousands of digits, and arrays nested as deep
        reason = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
        raise SoulError(f"{path} is not valid TOML: {reason}", hint=SHAPE_HINT) from error


def _text(root: Path, file: Path) -> str:
    """The text of a file that may be missing; then it is empty. Raises SoulError."""
    return read_text(root, file).strip() if file.is_symlink() or file.exists() else ""


def _modes(root: Path, folder: Path) -> tuple[tuple[Mode, ...], list[str]]:
    folders = mode_folders(folder)
    if len(folders) > MOST_MODES:
        return (), [f"{folder.name}: has {len(folders)} modes; at most {MOST_MODES} are read"]
    modes, faults = [], list[str]()
    for found in folders:
        if not FOLDER_NAME.fullmatch(found.name):
            faults.append(f"{found.name}/: can't be a mode's name; {_NAME_HINT}")
            continue
        mode, more = _mode(root, found)
        modes += [mode] if mode else []
        faults += more
    return tuple(modes), faults


def _mode(root: Path, folder: Path) -> tuple[Mode | None, list[str]]:
    called, file = f"{folder.name}/{MODE_MANIFEST}", folder / MODE_MANIFEST
    there = file.is_symlink() or file.exists()
    manifest = _manifest(root, file, called) if there else Manifest(called, "", {})
    personality = read_text(root, folder / PERSONALITY).strip()
    faults = [
        manifest.fault((field,), f"belongs {where}")
        for field, where in (("name", "to the folder, whose name it is"), ("personality", f"into {PERSONALITY}"))
        if field in manifest.data
    ]
    try:
        return Mode.model_validate({**manifest.data, "name": folder.name, "personality": personality}), faults
    except ValidationError as error:
        return None, faults + manifest.faults(error)


def _misplaced(manifest: Manifest, name: str) -> list[str]:
    faults = []
    if manifest.data.get("name") != name:
        faults.append(manifest.fault(("name",), f"must be {name!r}, as the folder is called"))
    faults += [
        manifest.fault((field,), f"belongs into {file}")
        for field, file in (("personality", PERSONALITY), *_OPTIONAL, ("states", f"{STATES}/<state>.md"))
        if field in manifest.data
    ]
    if "modes" in manifest.data:
        faults.append(manifest.fault(("modes",), f"belong into folders of their own, each with a {PERSONALITY}"))
    return faults


def _checked(manifest: Manifest, texts: dict[str, object], known: KnownNames | None) -> tuple[Soul | None, list[str]]:
    try:
        soul = Soul.model_validate({**manifest.data, **texts})
    except ValidationError as error:
        return None, manifest.faults(error)
    placed = [*_contradictions(soul), *(known.unknown_in(soul) if known else ())]
    return soul, [manifest.fault(place, message) for place, message in placed] + _too_long(soul)


def _contradictions(soul: Soul) -> Iterable[tuple[Place, str]]:
    """What is well formed by itself but at odds with another field."""
    for state, _ in soul.verbs.when:
        if state not in soul.emotional_states:
            yield ("verbs", "when", state), f"{state!r} is none of emotional_states: {', '.join(soul.emotional_states)}"
    for state, _ in soul.physio:
        if state not in soul.emotional_states:
            yield ("physio", state), f"{state!r} is none of emotional_states: {', '.join(soul.emotional_states)}"
    private = set(soul.private_verbs)
    spoken: list[tuple[Place, tuple[str, ...]]] = [(("verbs", "speech"), soul.verbs.speech)]
    spoken += [(("verbs", "when", state, "speech"), verbs.speech) for state, verbs in soul.verbs.when]
    for place, verbs in spoken:
        if both := [verb for verb in verbs if verb in private]:
            yield place, f"{both[0]!r} is a verb of thought too: speech under it would be kept back as private"
    if "expert" in soul.ism.model_fields_set and not soul.may_be(soul.ism.expert):
        yield ("ism", "expert"), f"{soul.ism.expert!r} is none of this soul's processes"


def _too_long(soul: Soul) -> list[str]:
    texts = [(PERSONALITY, soul.personality, "personality", soul.budgets.personality)]
    texts += [(f"{mode.name}/{PERSONALITY}", mode.personality, "mode", soul.budgets.mode) for mode in soul.modes]
    texts += [(f"{STATES}/{state}.md", text, "state", soul.budgets.state) for state, text in soul.states]
    texts += [(PLAYBOOK, soul.playbook, "playbook", soul.budgets.playbook)]
    texts += [(AWAKENING, soul.awakening, "awakening", soul.budgets.awakening)]
    faults = [
        f"{file}: has about {size} tokens of {allowed} that budgets.{budget} in {MANIFEST} allows"
        for file, text, budget, allowed in texts
        if (size := estimate_tokens(text)) > allowed
    ]
    return faults or list(overfull(soul))
