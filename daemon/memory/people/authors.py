"""Under which names what a person says is kept: their own, and one for each key of their sessions of Claude Code."""

from typing import Final

SESSIONS_OF_PERSON: Final = "SELECT 'session.' || id AS author FROM keys WHERE person = :person"
"""In SQL, the authors of what a person's sessions say, by the keys with which they came."""

NAMES_OF_PERSON: Final = f"SELECT :person UNION ALL {SESSIONS_OF_PERSON}"
"""In SQL, those and the person: all of it is theirs."""
