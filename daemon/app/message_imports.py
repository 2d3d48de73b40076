"""Imports what messages need and no start does, before the first one is claimed.

An import fails while the machine lacks file descriptors or memory, and no message may meet that. So what a message
needs is imported at the top of a module, or here; what only the reader of one kind of document needs is not.
"""

from daemon.core.config import Settings
from daemon.llm.router import load_sdks


def load_message_imports(settings: Settings) -> None:
    """Takes up to seconds, so call it in a thread. Raises OSError, ImportError."""
    load_sdks(settings)
    if settings.embedder != "none":
        import numpy  # noqa: F401, ICN001 - for memories by meaning
