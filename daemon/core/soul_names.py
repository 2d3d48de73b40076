"""Which soul people mean by a name: the one that the platform shows, its first word, or the name of the folder."""

from collections import Counter
from collections.abc import Iterable, Mapping

from daemon.core.levelling import levelled
from daemon.core.phrases import command_of


def souls_named(name: str, called: Mapping[str, str]) -> tuple[str, ...]:
    """The souls that a name means, of those `called` so; several where it is not clear. A whole name comes first."""
    said = levelled(name)
    whole = (soul for soul, shown in called.items() if said in (levelled(soul), levelled(shown)))
    first = (soul for soul, shown in called.items() if said in levelled(shown).split()[:1])
    return tuple(sorted(whole)) or tuple(sorted(first))


def shown_names(souls: Iterable[str], called: Mapping[str, str]) -> str:
    """The names of souls as people see them, in a row; those that are called the same tell their folders, too."""
    shown = {soul: called.get(soul, soul) for soul in souls}
    alike = [levelled(one) for one in shown.values()]
    named = (f"{one} ({soul})" if alike.count(levelled(one)) > 1 else one for soul, one in shown.items())
    return ", ".join(sorted(named))


def commands_of(called: Mapping[str, str]) -> dict[str, str]:
    """The slash commands, and the soul that each means: by its folder's name, and by the one that people see of it.

    A name that several bear makes no command, nor does one without a letter that commands may hold.
    """
    commands, bear = {command_of(soul): soul for soul in called}, Counter(map(command_of, called.values()))
    for soul, shown in called.items():
        command = command_of(shown)
        if bear[command] == 1 and any(map(str.isalnum, command)):
            commands.setdefault(command, soul)
    return commands


def unclear(found: tuple[str, ...]) -> str:
    """What a model reads about a name that means none or several of the souls."""
    return "Several souls bear this name." if found else "There is no such soul here now."
