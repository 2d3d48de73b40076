"""The names by which people know sessions of Claude Code."""

import re
import unicodedata


def handle(person: str, project: str) -> str:
    """A session's name before it is numbered: the first word of the person's name and the project, as `ada-api`."""
    return "-".join((_slug(person.partition(" ")[0]) or "person", _slug(project) or "session"))


def _slug(text: str) -> str:
    """Letters, digits and the signs that belong to letters, of any script; hyphens stand for the rest."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    kept = "".join(one if one.isalnum() or unicodedata.category(one)[0] == "M" else "-" for one in plain)
    return re.sub("-+", "-", kept).strip("-")[:30].rstrip("-")
