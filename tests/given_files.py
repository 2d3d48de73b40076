"""Files as people send them, and as somebody means harm with them."""

import base64
import struct
import zlib
from io import BytesIO
from typing import Any

from PIL import Image

RED = (200, 30, 40)


def picture(color: tuple[int, int, int] = RED, size: tuple[int, int] = (120, 80), form: str = "PNG") -> bytes:
    out = BytesIO()
    Image.new("RGB", size, color).save(out, form)
    return out.getvalue()


def bomb(width: int = 60_000, height: int = 60_000) -> bytes:
    """A PNG of some hundred bytes that claims gigabytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")
    )


def attached(name: str, data: bytes, mimetype: str = "") -> dict[str, Any]:
    """A file as the workspace's control API takes it."""
    return {"name": name, "base64": base64.b64encode(data).decode(), **({"mimetype": mimetype} if mimetype else {})}
