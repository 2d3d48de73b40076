"""The souls in use: reloaded after edits, the last valid version kept, and the soul of each channel."""

from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path

from daemon.core.errors import SoulError
from daemon.core.ports.telemetry import Emit
from daemon.soul.files import MANIFEST, signature
from daemon.soul.loader import KnownNames, channels_of, load_soul
from daemon.soul.schema import Soul

_DISTRIBUTION = "soul-daemon"


class ReloadingSoul:
    """One soul, reloaded after an edit of its files; the last valid version stays in use while an edit is broken."""

    def __init__(self, directory: Path, name: str, emit: Emit, known: KnownNames | None = None) -> None:
        """Read the soul. Raises SoulError, since there is no earlier valid version."""
        self._directory, self._name, self._emit, self._known = directory, name, emit, known
        self._seen = signature(directory / name)
        self._soul = load_soul(directory, name, known)
        self._reported = ""

    def current(self) -> Soul:
        """The soul as its files are now, or the last valid version.

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

    Of those that other daemons host it knows the channels.
    """

    def __init__(
        self, find: Callable[[str], Path], main: str, others: Sequence[str], emit: Emit, known: KnownNames | None = None
    ) -> None:
        """Read all souls; `find` gives the directory that holds a soul's folder. Raises SoulError."""
        self._emit = emit
        self._souls = {name: ReloadingSoul(find(name), name, emit, known) for name in dict.fromkeys((main, *others))}
        self.main = main  # answers in all channels that no other soul names
        self._routed = self._all()
        self._owners = channels_of(self._routed)
        self._elsewhere: Mapping[str, str] = {}
        self._clash = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The main soul, then the others."""
        return tuple(self._souls)

    def current(self, name: str) -> Soul:
        """The soul of that name, reloaded if edited. Raises SoulError for a name that is not hosted."""
        if name not in self._souls:
            raise SoulError(f"the soul {name!r} is not hosted here", hint="name it in SOUL_NAME or SOUL_SOULS")
        return self._souls[name].current()

    def hosted(self, name: str) -> Soul:
        """The soul of that name, or the main one where another daemon hosts it. Raises nothing."""
        return self.current(name if name in self._souls else self.main)

    def for_channel(self, channel: str) -> str:
        """The soul that answers in a channel, by the channel's id: the one that names it, else the main one.

        A soul that is hosted here comes before one that another daemon hosts.

        An edit after which two souls name the same channel emits `soul.broken`; until it is corrected the channels keep
        their souls.
        """
        souls = self._all()
        if any(now is not before for now, before in zip(souls, self._routed, strict=True)):
            self._routed = souls
            try:
                self._owners = channels_of(souls)
            except SoulError as error:
                self._emit("soul.broken", soul=self.main, reason=error.message, hint=error.hint)
        return self._owners.get(channel) or self._elsewhere.get(channel, self.main)

    def heed(self, elsewhere: Mapping[str, str]) -> None:
        """Take which souls other daemons host, by the channels that they name.

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
    """The directory that holds the soul `name`: the explicit one, `souls` beside the data, or the ones shipped.

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
    """Possible directories of the souls that are shipped: beside the package, or where it was installed."""
    found = [Path(__file__).resolve().parents[2] / "souls"]
    try:
        files = metadata.files(_DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        files = []
    installed = [Path(str(file.locate())) for file in files if file.name == MANIFEST]
    return found + sorted({path.resolve().parent.parent for path in installed})
