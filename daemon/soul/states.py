"""Reads `states/*.md` of a soul: its own stance in each mental process, with placeholders that the process fills."""

import difflib
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from daemon.soul.files import STATES, read_text, state_files

PLACEHOLDERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"returning": ("pause", "number"), "ready": ("contacts",)}
)
"""What a stance may hold in braces, by the mental process; the process puts the fact in its place."""

NEEDED: Mapping[str, tuple[str, ...]] = MappingProxyType({"ready": ("contacts",)})
"""Those without which the stance can't do its work."""

MOST_FILES = 64

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def read_states(
    root: Path, folder: Path, processes: Collection[str] | None
) -> tuple[tuple[tuple[str, str], ...], list[str]]:
    """The stances of a soul's folder by mental process, and their faults. Raises SoulError for unreadable files.

    Without `processes` any name is taken for that of a mental process.
    """
    files, states, faults = state_files(folder), list[tuple[str, str]](), list[str]()
    if len(files) > MOST_FILES:
        return (), [f"{STATES}/: has {len(files)} files; at most {MOST_FILES} are read"]
    for file in files:
        called = f"{STATES}/{file.name}"
        if why := _why_no_state(file, processes):
            faults.append(f"{called}: {why}")
            continue
        text = read_text(root, file).strip()
        faults += [f"{called}{fault}" for fault in _faults(file.stem, text)]
        states.append((file.stem, text))
    return tuple(states), faults


def filled(stance: str, facts: Mapping[str, str]) -> str:
    """A stance with the facts in place of its placeholders; braces around anything else stay."""
    return _PLACEHOLDER.sub(lambda found: facts.get(found[1], found[0]), stance)


def _why_no_state(file: Path, processes: Collection[str] | None) -> str:
    if file.suffix != ".md":
        return "is not read; a stance is a text file called <state>.md"
    if processes is None or file.stem in processes:
        return ""
    close = difflib.get_close_matches(file.stem, sorted(processes), n=1)
    meant = f"did you mean {close[0]}.md?" if close else f"there are {', '.join(sorted(processes)) or 'none'}"
    return f"there is no state {file.stem!r}; {meant}"


def _faults(state: str, text: str) -> Iterator[str]:
    if not text:
        yield ": is empty; write the stance, or remove the file"
        return
    allowed = PLACEHOLDERS.get(state, ())
    for number, line in enumerate(text.splitlines(), start=1):
        for name in _PLACEHOLDER.findall(line):
            if name not in allowed:
                there = ", ".join(f"{{{one}}}" for one in allowed) or "none"
                yield f":{number}: {{{name}}} is no placeholder of this state; there is {there}"
    for name in NEEDED.get(state, ()):
        if f"{{{name}}}" not in text:
            yield f": lacks {{{name}}}, where the daemon puts what only it knows"
