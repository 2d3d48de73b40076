"""The embedders: an OpenAI-compatible endpoint through its SDK, or the local model in a worker process."""

import asyncio
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from pydantic import SecretStr

from daemon.core.errors import ModelError, ModelRefused, ModelUnavailable
from daemon.core.http import OversizedResponseError
from daemon.core.ports.vectors import Unrelated
from daemon.core.workers import WorkerFailed, WorkerProcess, WorkerRefused
from daemon.llm.answers import Vendor
from daemon.llm.embedder.minilm_worker import FILES
from daemon.llm.endpoint import Endpoint, SdkClient, openai_client

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from daemon.core.ports.vectors import Vector


_SECONDS: Final = 30.0
_AT_ONCE: Final = 32  # texts in one request
_MOST_LETTERS: Final = 4_000
_HINT: Final = "check SOUL_EMBEDDER_URL, SOUL_EMBEDDER_MODEL and SOUL_EMBEDDER_API_KEY"
_TRY_AGAIN: Final = "it is tried again by itself; full text serves meanwhile"


class EndpointEmbedder:
    """An `Embedder` at an endpoint. The client is built in a thread at the first call."""

    def __init__(self, url: str, model: str, key: SecretStr | None) -> None:
        self._endpoint = Endpoint(
            Vendor.OPENAI, url, key or SecretStr("none"), "SOUL_EMBEDDER_API_KEY", "SOUL_EMBEDDER_URL"
        )
        self._model = model
        self._client = SdkClient(self._connect)

    @property
    def id(self) -> str:
        parts = urlsplit(self._endpoint.base_url)
        return f"{self._model}@{parts.netloc}{parts.path.rstrip('/')}"

    @property
    def unrelated(self) -> None:
        return None

    async def embed(self, texts: Sequence[str]) -> Sequence["Vector"]:
        """Return the texts' vectors as `Embedder.embed` requires. All vectors of one call have one length."""
        client = await self._client.get()
        found: list[Vector] = []
        for start in range(0, len(texts), _AT_ONCE):
            found += await self._some(client, [text[:_MOST_LETTERS] or " " for text in texts[start : start + _AT_ONCE]])
        if len({len(one) for one in found}) > 1:  # as during a change of the endpoint's model
            raise ModelUnavailable("the embedder's endpoint sent vectors of several lengths at once", hint=_TRY_AGAIN)
        return found

    async def aclose(self) -> None:
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
            raise _refusal(error.status_code) from None  # the error's text may quote the request
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


_PROGRAM: Final = "daemon.llm.embedder.minilm_worker"
_RECIPE: Final = 1  # raise it with each change of the vectors of the same files
_LOCAL_HINT: Final = (
    "install the daemon again, or build the files with scripts/build_embedder; SOUL_EMBEDDER=none does without"
)


class LocalEmbedder:
    """An `Embedder` with a local model. `folder` holds the model, its vocabulary and SHA256SUMS."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sums = _sums(folder)
        self._thread = ThreadPoolExecutor(1, "embedder")
        self._process: WorkerProcess | None = None
        self._closed = False

    @property
    def id(self) -> str:
        return f"minilm-{self._sums.get(FILES[0], '')[:12]}-{_RECIPE}"

    @property
    def unrelated(self) -> Unrelated:
        return Unrelated(0.08, 0.09)

    async def embed(self, texts: Sequence[str]) -> Sequence["Vector"]:
        """Return the texts' vectors as `Embedder.embed` requires. Raises ModelRefused for missing or damaged files."""
        loop = asyncio.get_running_loop()
        return [await loop.run_in_executor(self._thread, self._one, text) for text in texts]

    async def aclose(self) -> None:
        self._closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._process is not None:
            self._process.kill()

    def _one(self, text: str) -> "Vector":
        import numpy as np

        try:
            answer = self._answer(text[:_MOST_LETTERS])
        except WorkerRefused as error:
            raise ModelRefused(f"the embedder's model can't be used: {error}", hint=_LOCAL_HINT) from error
        except WorkerFailed as error:
            raise ModelUnavailable(f"the embedder failed: {error}", hint=_TRY_AGAIN) from error
        assert isinstance(answer, bytes)
        return np.frombuffer(answer, np.float32)

    def _answer(self, text: str) -> object:
        """Return the worker's answer. An idle worker ends by itself and is started again once."""
        if self._process is not None:
            try:
                return self._process.ask(text)
            except WorkerFailed as error:
                if self._closed or isinstance(error, WorkerRefused):
                    raise
        self._process = WorkerProcess(_PROGRAM, str(self._folder), *(self._sums.get(one, "") for one in FILES), env={})
        if self._closed:  # closed during the start, when there was no process to kill
            self._process.kill()
        return self._process.ask(text)


def _sums(folder: Path) -> dict[str, str]:
    try:
        lines = (folder / "SHA256SUMS").read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
