"""What the app needs to know of its souls: who answers by a reaction, for which it needs a scope, and their names."""

from daemon.core.config import Settings
from daemon.core.errors import SoulError
from daemon.soul import Soul, find_souls_directory, load_soul


def souls_that_nod(settings: Settings) -> tuple[str, ...]:
    """The display names of those souls of the settings that may nod; one that can't be read counts as none."""
    found = (_soul(settings, name) for name in (settings.name, *settings.souls))
    return tuple(one.display_name for one in found if one is not None and one.mind == "cycle" and one.presence.nod)


def called_in(settings: Settings) -> dict[str, str]:
    """The names that people see of the souls of the settings; that of its folder where one can't be read."""
    found = {name: _soul(settings, name) for name in (settings.name, *settings.souls)}
    return {name: name if one is None else one.display_name for name, one in found.items()}


def _soul(settings: Settings, name: str) -> Soul | None:
    try:
        return load_soul(find_souls_directory(settings.souls_dir, settings.home, name), name)
    except SoulError:
        return None
