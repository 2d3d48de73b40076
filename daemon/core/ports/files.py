"""Files that were sent: how a platform describes them, and what is read of them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from daemon.core.ports.models import Image

MOST_FILES = 8
"""Files of one message that are read."""

MOST_FILE_BYTES = 20_000_000
"""Bytes of the largest file that is read."""

SHARED = "[shared a file: "
"""How the line of a message begins that names one of its files; the name is not the words of who sent it."""


@dataclass(frozen=True, slots=True)
class SharedFile:
    """A file in a message, as the platform describes it; its bytes may turn out to be something else.

    `name` is one clean line, `size` in bytes; `url` is where `Channel.fetch` finds it.
    """

    id: str
    name: str
    media_type: str = ""
    size: int = 0
    url: str = ""


class FileKind(StrEnum):
    """What was found in a file."""

    IMAGE = "image"
    AUDIO = "audio"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class ReadFile:
    """What was read of a file, as data.

    `text` are the words of a document or of a recording, empty for a picture; `left_out` says what of them is missing.
    A picture has the size in pixels, its main colour (`#rrggbb`), and `image`, a small copy without its hidden data.
    """

    kind: FileKind
    media_type: str
    text: str = ""
    left_out: str = ""
    width: int = 0
    height: int = 0
    color_hex: str = ""
    image: Image | None = None


ReadBytes = Callable[[str, bytes], Awaitable[ReadFile]]
"""Reads a file that anybody may have made, within limits of time and memory, by its bytes rather than by its name.

Raises FileRefused.
"""


class Transcriber(Protocol):
    """Turns recorded speech into words."""

    async def transcribe(self, name: str, data: bytes) -> str:
        """The words of a recording. Raises ModelUnavailable or ModelRefused."""

    async def aclose(self) -> None:
        """Close connections."""
