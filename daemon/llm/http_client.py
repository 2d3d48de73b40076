"""The HTTP client of both SDKs: bounded answers, no redirects, no proxy for servers on this machine."""

from importlib import import_module
from typing import TYPE_CHECKING

from daemon.core.bounded_http import UNCOMPRESSED, bound_responses
from daemon.llm.endpoint import Endpoint
from daemon.llm.lifesigns import heard

if TYPE_CHECKING:
    import httpx2

_CONNECT_SECONDS = 10.0


def load_http() -> None:
    """Import what a client's first request would import: its transport, its backend, the certificates."""
    for name in ("httpcore2", "httpx2", "truststore", "anyio._backends._asyncio"):
        import_module(name)


def open_http_client(endpoint: Endpoint) -> "httpx2.AsyncClient":
    """A client for one endpoint. Reads have no timeout here: `daemon.llm.resilience` has the deadlines.

    Redirects are not followed: they would send prompts to a host that is not configured.
    """
    import httpx2

    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(None, connect=_CONNECT_SECONDS),
        follow_redirects=False,
        trust_env=not endpoint.on_loopback,
        headers=UNCOMPRESSED,
        event_hooks={"response": [bound_responses(on_chunk=lambda _: heard())]},
    )
