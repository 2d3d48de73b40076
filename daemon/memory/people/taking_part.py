"""Where a person takes part, in SQL with `:person` and `:workspace`: the ids of conversations, of every soul."""

from typing import Final

from daemon.core.sessions import DOOR
from daemon.memory.people.authors import NAMES_OF_PERSON

# A CROSS JOIN keeps its order: one person's rows are few, those of a workspace are not.
TAKES_PART: Final = f"""
    SELECT c.id FROM (SELECT conversation FROM turns WHERE author IN ({NAMES_OF_PERSON}) AND speaker <> 'soul'
                      UNION SELECT conversation FROM inbox WHERE author IN ({NAMES_OF_PERSON})
                      UNION SELECT heard_in FROM shared_messages WHERE behalf = :person AND behalf <> ''
                      UNION SELECT id FROM conversations WHERE workspace = :workspace AND channel = '{DOOR}'
                        AND thread GLOB :person || ':*') p -- a passport brings no keys
    CROSS JOIN conversations c ON c.id = p.conversation WHERE c.workspace = :workspace
    """  # noqa: S608 - constants
PRIVATE: Final = f"{TAKES_PART} AND c.audience LIKE 'dm:%'"
"""Those that are the person's alone."""
