"""Reads `[words]` of a soul: the daemon's sentences in the soul's own words, for all users and by language."""

import difflib
import re
from collections.abc import Iterator, Mapping

from daemon.core.sentences import LABELS, SENTENCES, Words, fault_of_form, placeholders_in
from daemon.soul.files import Place

WordsByLanguage = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
"""Pairs of a language and its sentences by key. The empty language is for all users."""

MOST_LANGUAGES = 40

_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z0-9]{2,8}){0,3}")


def read_words(section: object) -> tuple[WordsByLanguage, list[tuple[Place, str]]]:
    """Return the words of a manifest's section, and its faults with their places."""
    if section is None:
        return (), []
    if not isinstance(section, Mapping):
        return (), [(("words",), "must be a table of sentences by their keys")]
    tables = {"": {key: value for key, value in section.items() if not isinstance(value, Mapping)}}
    tables |= {str(key): dict(value) for key, value in section.items() if isinstance(value, Mapping)}
    faults = [fault for language, words in tables.items() for fault in _faults(language, words)]
    if len(tables) > MOST_LANGUAGES:
        faults.append((("words",), f"has {len(tables) - 1} languages; at most {MOST_LANGUAGES - 1} are read"))
    return () if faults else tuple((one, tuple(words.items())) for one, words in tables.items() if words), faults


def words_in(all_words: WordsByLanguage, language: str) -> Words:
    """Return the words for a language tag such as `de-AT`: its own, else those of `de`, of all, or English."""
    tag, known, own = language.lower().replace("_", "-"), dict(all_words), dict[str, str]()
    parts = tag.split("-")
    for one in ("", *("-".join(parts[:count]) for count in range(1, len(parts) + 1))):
        own |= dict(known.get(one, ()))
    return Words(own)


def _faults(language: str, words: Mapping[str, object]) -> Iterator[tuple[Place, str]]:
    table: Place = ("words", language) if language else ("words",)
    if language and not _LANGUAGE.fullmatch(language):
        yield table, f"{language!r} is no language; write its tag in small letters, such as de or pt-br"
        return
    for key, text in words.items():
        if (fault := _fault(key, text)) is not None:
            yield (*table, key), fault


def _fault(key: str, text: object) -> str | None:
    if key not in SENTENCES:
        close = difflib.get_close_matches(key, SENTENCES, n=1)
        hint = f"did you mean {close[0]!r}?" if close else "see `soul settings --soul`"
        return f"there is no sentence {key!r}; {hint}"
    if (fault := fault_of_form(text, label=key in LABELS)) is not None:
        return fault
    found, wanted = placeholders_in(str(text)), placeholders_in(SENTENCES[key])
    if unknown := [name for name in found if name not in wanted]:
        return f"{{{unknown[0]}}} is no placeholder of this sentence; it has {_listed(wanted)}"
    missing = [name for name in wanted if name not in found]
    return f"lacks {_listed(missing)}, which the sentence is about" if missing else None


def _listed(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in names) or "none"
