"""Embeddings by an OpenAI-compatible endpoint, through its SDK."""

import asyncio
import math
from collections.abc import Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from pydantic import SecretStr

from daemon.core.bounded_http import OversizedResponseError
from daemon.core.errors import ModelError, ModelRefused, ModelUnavailable
from daemon.llm.endpoint import Endpoint
from daemon.llm.model_id import Vendor
from daemon.llm.sdk_client import SdkClient, openai_client

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from daemon.core.ports.vectors import Vector

_SECONDS: Final = 30.0
_AT_ONCE: Final = 32  # texts in one request
_MOST_LETTERS: Final = 4_000
_HINT: Final = "check SOUL_EMBEDDER_URL, SOUL_EMBEDDER_MODEL and SOUL_EMBEDDER_API_KEY"
_TRY_AGAIN: Final = "it is tried again by itself; full text serves meanwhile"


class EndpointEmbedder:
    """See `core.ports.vectors.Embedder`; the client is built in a thread at the first call."""

    def __init__(self, url: str, model: str, key: SecretStr | None) -> None:
        self._endpoint = Endpoint(
            Vendor.OPENAI, url, key or SecretStr("none"), "SOUL_EMBEDDER_API_KEY", "SOUL_EMBEDDER_URL"
        )
        self._model = model
        self._client = SdkClient(self._connect)

    @property
    def id(self) -> str:
        """See `Embedder.id`: the model and where it is served."""
        parts = urlsplit(self._endpoint.base_url)
        return f"{self._model}@{parts.netloc}{parts.path.rstrip('/')}"

    @property
    def unrelated(self) -> None:
        """See `Embedder.unrelated`: each model has its own."""
        return None

    async def embed(self, texts: Sequence[str]) -> Sequence["Vector"]:
        """See `Embedder.embed`. All vectors of one call have one length; the next call's may have another."""
        client = await self._client.get()
        found: list[Vector] = []
        for start in range(0, len(texts), _AT_ONCE):
            found += await self._some(client, [text[:_MOST_LETTERS] or " " for text in texts[start : start + _AT_ONCE]])
        if len({len(one) for one in found}) > 1:  # as while another model takes the place of the one before
            raise ModelUnavailable("the embedder's endpoint sent vectors of several lengths at once", hint=_TRY_AGAIN)
        return found

    async def aclose(self) -> None:
        """See `Embedder.aclose`."""
        await self._client.aclose()

    def _connect(self) -> "AsyncOpenAI":
        import numpy as np  # noqa: F401 - here, rather than on the event loop
        import openai.resources.embeddings  # noqa: F401

        return openai_client(self._endpoint, timeout=_SECONDS)

    async def _some(self, client: "AsyncOpenAI", texts: list[str]) -> list["Vector"]:
        import httpx2
        import openai

        try:
            async with asyncio.timeout(_SECONDS):
                answer = await client.embeddings.create(model=self._model, input=texts, encoding_format="float")
            numbers = [one.embedding for one in sorted(answer.data, key=lambda one: one.index)]
        except openai.APIStatusError as error:
            raise _refusal(error.status_code) from None  # its text may quote what was sent
        except (openai.OpenAIError, httpx2.HTTPError, OversizedResponseError, TimeoutError) as error:
            raise ModelUnavailable("the embedder's endpoint can't be reached", hint=_TRY_AGAIN) from error
        except (ValueError, TypeError, AttributeError, LookupError):
            raise ModelUnavailable("the embedder's endpoint sent an answer that can't be read", hint=_HINT) from None
        return self._checked(numbers, len(texts))

    def _checked(self, numbers: list[list[float]], wanted: int) -> list["Vector"]:
        import numpy as np

        if len(numbers) != wanted:
            raise ModelUnavailable("the embedder's endpoint sent another number of vectors than asked for", hint=_HINT)
        vectors: list[Vector] = []
        for one in numbers:
            vector = np.asarray(one, np.float32).reshape(-1)
            size = float(np.linalg.norm(vector))
            if not math.isfinite(size) or not size:
                raise ModelUnavailable("the embedder's endpoint sent a vector without a direction", hint=_HINT)
            vectors.append(vector / size)
        return vectors


def _refusal(status: int) -> ModelError:
    passing = status in (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS) or status >= 500  # noqa: PLR2004
    what = f"the embedder's endpoint failed with status {status}"
    return ModelUnavailable(what, hint=_TRY_AGAIN) if passing else ModelRefused(what, hint=_HINT)
