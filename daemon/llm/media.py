"""The pictures and recordings of a call: messages for models that see no pictures, and speech to text."""

import asyncio
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace
from pydantic import SecretStr

from daemon.core.config import Settings
from daemon.core.errors import CannotSee, ModelRefused, ModelUnavailable
from daemon.core.http import OversizedResponseError
from daemon.core.ports.services import Message, Prompt, Transcriber
from daemon.llm.answers import ModelId, Vendor
from daemon.llm.endpoint import Endpoint, SdkClient, chat_of, clean, openai_client

if TYPE_CHECKING:
    from openai import AsyncOpenAI


UNSEEN: Final = (
    "(Here {number} shown to you, and you can't see pictures. Say so if it matters, and invent nothing of what may be "
    "on them.)"
)


def seen_by(model: ModelId, prompt: Prompt, sees: bool) -> list[Message]:
    """Return the messages for a model. Raises CannotSee if the prompt needs pictures and the model sees none."""
    chat = chat_of(prompt)
    if sees:
        return chat
    if prompt.needs_eyes:
        raise CannotSee(f"{model.full} sees no pictures", hint="choose a model that does, or one that stands by")
    return [_without_pictures(each) for each in chat]


def _without_pictures(message: Message) -> Message:
    if not message.images:
        return message
    number = "a picture was" if len(message.images) == 1 else f"{len(message.images)} pictures were"
    return replace(message, text=f"{message.text}\n\n{UNSEEN.format(number=number)}", images=())


_SECONDS: Final = 60.0
_HINT: Final = "check SOUL_STT_URL, SOUL_STT_MODEL and SOUL_STT_API_KEY"
_MOST_LETTERS: Final = 100_000


def build_transcriber(settings: Settings) -> Transcriber | None:
    """Return the configured transcriber, or None. It connects at its first use."""
    if not settings.stt_url:
        return None
    return EndpointTranscriber(settings.stt_url, settings.stt_model, settings.stt_api_key)


class EndpointTranscriber:
    """A `Transcriber` at an OpenAI-compatible endpoint. The client is built in a thread at the first call."""

    def __init__(self, url: str, model: str, key: SecretStr | None) -> None:
        self._endpoint = Endpoint(Vendor.OPENAI, url, key or SecretStr("none"), "SOUL_STT_API_KEY", "SOUL_STT_URL")
        self._model = model
        self._client = SdkClient(self._connect)

    async def transcribe(self, name: str, data: bytes) -> str:
        """Return the words as `Transcriber.transcribe` requires. Of the name only the suffix is sent."""
        import httpx2
        import openai

        client = await self._client.get()
        suffix = "".join(letter for letter in name.rpartition(".")[2].lower() if letter.isascii() and letter.isalnum())
        try:
            async with asyncio.timeout(_SECONDS):
                heard = await client.audio.transcriptions.create(
                    model=self._model, file=(f"recording.{suffix[:5] or 'mp3'}", data), response_format="json"
                )
            words = heard.text
        except openai.APIStatusError as error:
            raise ModelRefused(
                f"the transcription endpoint answered with status {error.status_code}", hint=_HINT
            ) from None  # the error's text may quote the request
        except (openai.OpenAIError, httpx2.HTTPError, OversizedResponseError, TimeoutError) as error:
            raise ModelUnavailable("the transcription endpoint can't be reached", hint=_HINT) from error
        except (ValueError, TypeError, AttributeError, LookupError):
            raise ModelUnavailable("the transcription endpoint sent an answer that can't be read", hint=_HINT) from None
        if not isinstance(words, str):
            raise ModelUnavailable("the transcription endpoint sent an answer that can't be read", hint=_HINT)
        return clean(words)[:_MOST_LETTERS]

    async def aclose(self) -> None:
        await self._client.aclose()

    def _connect(self) -> "AsyncOpenAI":
        import openai.resources.audio  # noqa: F401 - here, rather than on the event loop

        return openai_client(self._endpoint, timeout=_SECONDS)
