"""Names of souls: a soul is found by its shown name, the first word of it, or its folder's name."""

from collections import Counter
from collections.abc import Iterable, Mapping

from daemon.core.phrases import command_of, levelled


def souls_named(name: str, called: Mapping[str, str]) -> tuple[str, ...]:
    """Return the souls of `called` that a name means: several if it is ambiguous. Whole names win over first words."""
    said = levelled(name)
    whole = (soul for soul, shown in called.items() if said in (levelled(soul), levelled(shown)))
    first = (soul for soul, shown in called.items() if said in levelled(shown).split()[:1])
    return tuple(sorted(whole)) or tuple(sorted(first))


def shown_names(souls: Iterable[str], called: Mapping[str, str]) -> str:
    """Return the shown names of souls in a row. Equal names get their folders, too."""
    shown = {soul: called.get(soul, soul) for soul in souls}
    alike = [levelled(one) for one in shown.values()]
    named = (f"{one} ({soul})" if alike.count(levelled(one)) > 1 else one for soul, one in shown.items())
    return ", ".join(sorted(named))


def commands_of(called: Mapping[str, str]) -> dict[str, str]:
    """Return the slash commands with their souls: by the folder's name, and by the shown name.

    A shared name makes no command, nor does a name without a letter that commands may hold.
    """
    commands, bear = {command_of(soul): soul for soul in called}, Counter(map(command_of, called.values()))
    for soul, shown in called.items():
        command = command_of(shown)
        if bear[command] == 1 and any(map(str.isalnum, command)):
            commands.setdefault(command, soul)
    return commands


def unclear(found: tuple[str, ...]) -> str:
    """Return what a model reads about a name that means none or several of the souls."""
    return "Several souls bear this name." if found else "There is no such soul here now."
