"""Embedders: the one that comes with the daemon, an OpenAI-compatible endpoint, or none."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:  # keeps a process small that imports this package for the model alone
    from daemon.core.config import Settings
    from daemon.core.ports.vectors import Embedder

MODEL: Final = Path(__file__).parent / "minilm"
"""The folder of the local embedder's model, its vocabulary and their hashes."""


def build_embedder(settings: "Settings", model: Path = MODEL) -> "Embedder | None":
    """Return the configured embedder, or None for `none`. It loads nothing before its first use.

    Raises ConfigError if the endpoint is chosen without a URL or model.
    """
    from daemon.core.config import one_thread_for_numbers
    from daemon.core.errors import ConfigError
    from daemon.llm.embedder.endpoint import EndpointEmbedder, LocalEmbedder

    one_thread_for_numbers()
    match settings.embedder:
        case "none":
            return None
        case "local":
            return LocalEmbedder(model)
        case "endpoint":
            if not settings.embedder_url or not settings.embedder_model:
                raise ConfigError(
                    "SOUL_EMBEDDER is endpoint, and it is not said which",
                    hint="set SOUL_EMBEDDER_URL and SOUL_EMBEDDER_MODEL, or SOUL_EMBEDDER=local",
                )
            return EndpointEmbedder(settings.embedder_url, settings.embedder_model, settings.embedder_api_key)
