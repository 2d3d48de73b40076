"""Reads a soul's folder (`soul.toml`, texts and modes), reports all faults at once, and reloads it after edits."""

import difflib
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path

from pydantic import ValidationError

from daemon.core.errors import SoulError
from daemon.core.ports.services import Emit
from daemon.core.value import Value
from daemon.core.working_memory import estimate_tokens
from daemon.soul.field_types import read_states
from daemon.soul.files import (
    AWAKENING,
    MANIFEST,
    MODE_MANIFEST,
    PERSONALITY,
    PLAYBOOK,
    SHAPE_HINT,
    STATES,
    Manifest,
    Place,
    mode_folders,
    read_text,
    signature,
)
from daemon.soul.room import overfull
from daemon.soul.schema import FOLDER_NAME, Mode, Soul
from daemon.soul.words import read_words

MOST_MODES = 16
_OPTIONAL = (("playbook", PLAYBOOK), ("awakening", AWAKENING))  # fields of a soul that are texts of their own
_NAME_HINT = "use lower-case letters, digits, - and _"


class KnownNames(Value):
    """The names of all mental processes and subprocesses, to which a soul's file is limited.

    `why_not` returns why an extension can't be used, or an empty string.
    """

    processes: Collection[str]
    subprocesses: Collection[str]
    why_not: Callable[[str], str] = lambda name: f"nothing brings the action {name!r}"

    def unknown_in(self, soul: Soul) -> list[tuple[Place, str]]:
        """Return every unknown name in a soul: its place, and the name that was perhaps meant."""
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
    """Read the souls that one daemon hosts. `find` returns the directory that holds a soul's folder.

    Raises SoulError for a fault in any of them, and if two name the same channel.
    """
    souls = tuple(load_soul(find(name), name, known) for name in dict.fromkeys(names))
    channels_of(souls)
    return souls


def channels_of(souls: Iterable[Soul]) -> dict[str, str]:
    """Return the soul that answers in each channel, by channel id. Raises SoulError if two name the same channel."""
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
    """Yield what is well formed by itself but contradicts another field."""
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


_DISTRIBUTION = "soul-daemon"


class ReloadingSoul:
    """One soul, reloaded after an edit of its files. The last valid version stays in use while an edit is broken."""

    def __init__(self, directory: Path, name: str, emit: Emit, known: KnownNames | None = None) -> None:
        """Read the soul. Raises SoulError, since there is no earlier valid version."""
        self._directory, self._name, self._emit, self._known = directory, name, emit, known
        self._seen = signature(directory / name)
        self._soul = load_soul(directory, name, known)
        self._reported = ""

    def current(self) -> Soul:
        """Return the soul as its files are now, or the last valid version.

        Emits `soul.reloaded` after a valid edit and `soul.broken` once for each distinct fault.
        """
        found = signature(self._directory / self._name)
        if found == self._seen:
            return self._soul
        self._seen = found
        try:
            self._soul = load_soul(self._directory, self._name, self._known)
        except SoulError as error:
            if str(error) != self._reported:
                self._reported = str(error)
                self._emit("soul.broken", soul=self._name, reason=error.message, hint=error.hint)
            return self._soul
        self._reported = ""
        self._emit("soul.reloaded", soul=self._name)
        return self._soul


class Souls:
    """All souls that one daemon hosts: the main one, and others for the channels that they name.

    It also knows the channels of souls that other daemons host.
    """

    def __init__(
        self, find: Callable[[str], Path], main: str, others: Sequence[str], emit: Emit, known: KnownNames | None = None
    ) -> None:
        """Read all souls. `find` returns the directory that holds a soul's folder. Raises SoulError."""
        self._emit = emit
        self._souls = {name: ReloadingSoul(find(name), name, emit, known) for name in dict.fromkeys((main, *others))}
        self.main = main  # answers in all channels that no other soul names
        self._routed = self._all()
        self._owners = channels_of(self._routed)
        self._elsewhere: Mapping[str, str] = {}
        self._clash = ""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._souls)

    def current(self, name: str) -> Soul:
        """Return the soul of that name, reloaded if edited. Raises SoulError for a name that is not hosted."""
        if name not in self._souls:
            raise SoulError(f"the soul {name!r} is not hosted here", hint="name it in SOUL_NAME or SOUL_SOULS")
        return self._souls[name].current()

    def hosted(self, name: str) -> Soul:
        """Return the soul of that name, or the main one where another daemon hosts it."""
        return self.current(name if name in self._souls else self.main)

    def for_channel(self, channel: str) -> str:
        """Return the soul that answers in a channel, by the channel's id: the one that names it, else the main one.

        A soul that is hosted here comes before one that another daemon hosts. An edit by which two souls name the same
        channel emits `soul.broken`. The channels keep their souls until it is corrected.
        """
        souls = self._all()
        if any(now is not before for now, before in zip(souls, self._routed, strict=True)):
            self._routed = souls
            try:
                self._owners = channels_of(souls)
            except SoulError as error:
                self._emit("soul.broken", soul=self.main, reason=error.message, hint=error.hint)
        return self._owners.get(channel) or self._elsewhere.get(channel, self.main)

    def set_elsewhere(self, elsewhere: Mapping[str, str]) -> None:
        """Set the souls that other daemons host, by the channels that they name.

        A channel that one of them and a soul hosted here both name emits `soul.broken`, once.
        """
        self._elsewhere = elsewhere
        owners = {channel: soul for channel, soul in elsewhere.items() if self._owners.get(channel, soul) != soul}
        clash = ", ".join(f"{channel} ({self._owners[channel]} and {soul})" for channel, soul in sorted(owners.items()))
        if clash and clash != self._clash:
            hint = "one soul answers in a channel: take the id out of one of them"
            self._emit("soul.broken", soul=self.main, reason=f"souls of two daemons both name {clash}", hint=hint)
        self._clash = clash

    def _all(self) -> tuple[Soul, ...]:
        return tuple(soul.current() for soul in self._souls.values())


def find_souls_directory(explicit: Path | None, home: Path, name: str) -> Path:
    """Return the directory that holds the soul `name`: the explicit one, `souls` next to the data, or the shipped one.

    Raises SoulError with the directories that were searched.
    """
    candidates = [explicit] if explicit is not None else [home / "souls", *_shipped()]
    for candidate in candidates:
        if (candidate / name / MANIFEST).is_file():
            return candidate
    looked = ", ".join(str(candidate) for candidate in candidates)
    hint = "correct SOUL_NAME or SOUL_SOULS, or set SOUL_SOULS_DIR to where it lives"
    raise SoulError(f"there is no soul {name!r} in {looked}", hint=hint)


def _shipped() -> list[Path]:
    found = [Path(__file__).resolve().parents[2] / "souls"]
    try:
        files = metadata.files(_DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        files = []
    installed = [Path(str(file.locate())) for file in files if file.name == MANIFEST]
    return found + sorted({path.resolve().parent.parent for path in installed})
