"""The reader of a picture: its size, its main colour, and a small copy without its hidden data."""

import base64
from io import BytesIO
from typing import Final

from PIL import (
    BmpImagePlugin,
    GifImagePlugin,
    Image,
    ImageFile,
    ImageOps,
    JpegImagePlugin,
    PngImagePlugin,
    TiffImagePlugin,
    UnidentifiedImageError,
    WebPImagePlugin,
)

from daemon.tools.documents.document import Section, Why
from daemon.tools.documents.formats.parts import CannotRead, Read, misnamed

TYPE, SIZE, COLOR, COPY = "type", "size", "color", "copy"
"""The places of the results: the media type, `width height` in pixels, `#rrggbb`, and a JPEG in base64."""

MOST_PIXELS: Final = 40_000_000
"""Pixels of the largest picture that is unpacked. A file of a few bytes can claim any number."""

_LONGEST_SIDE: Final = 1_568  # pixels; models scale larger pictures down to about this
_LARGEST_COPY: Final = 1_200_000  # bytes
_QUALITIES: Final = (85, 60, 35)
_LOOKED_AT: Final = 64  # pixels of each side for the measurement of the main colour
_COLORS: Final = 8
_READERS: Final = (  # loaded here, since no file can be opened once reading has begun
    *(BmpImagePlugin, GifImagePlugin, JpegImagePlugin, PngImagePlugin, TiffImagePlugin, WebPImagePlugin),
)
_FORMATS: Final = ("BMP", "GIF", "JPEG", "PNG", "TIFF", "WEBP")
_TOO_LARGE: Final = "it has too many pixels", "make it smaller", Why.TOO_BIG_INSIDE

Image.MAX_IMAGE_PIXELS = MOST_PIXELS
Image.init()
ImageFile.LOAD_TRUNCATED_IMAGES = False


def read(data: bytes) -> Read:
    """Yield the measurements of a picture, each as a section. Of an animation the first frame is read."""
    try:
        with Image.open(BytesIO(data), formats=_FORMATS) as opened:
            width, height = opened.size
            if width * height > MOST_PIXELS:
                raise CannotRead(*_TOO_LARGE)
            media_type = Image.MIME.get(opened.format or "", "application/octet-stream")
            opened.draft("RGB", (_LONGEST_SIDE, _LONGEST_SIDE))  # a JPEG is unpacked no larger than needed
            picture = _on_white(ImageOps.exif_transpose(opened))
    except Image.DecompressionBombError as error:
        raise CannotRead(*_TOO_LARGE) from error
    except UnidentifiedImageError as error:
        raise misnamed(data, "picture") from error
    picture.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE))
    yield Section(TYPE, media_type)
    yield Section(SIZE, f"{width} {height}")
    yield Section(COLOR, _main_color(picture))
    yield Section(COPY, base64.b64encode(_copy(picture)).decode("ascii"))


def _on_white(picture: Image.Image) -> Image.Image:
    if picture.mode in {"RGBA", "LA", "PA"} or "transparency" in picture.info:
        whole = picture.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", whole.size, "white"), whole).convert("RGB")
    return picture.convert("RGB")


def _main_color(picture: Image.Image) -> str:
    few = picture.resize((_LOOKED_AT, _LOOKED_AT), Image.Resampling.BOX).quantize(_COLORS)
    counted = few.getcolors() or []
    palette = few.getpalette() or []
    place = max(counted, key=lambda one: one[0])[1] if counted else 0
    assert isinstance(place, int)
    red, green, blue = palette[3 * place : 3 * place + 3]
    return f"#{red:02x}{green:02x}{blue:02x}"


def _copy(picture: Image.Image) -> bytes:
    made = b""
    for quality in _QUALITIES:
        out = BytesIO()
        picture.save(out, "JPEG", quality=quality)
        made = out.getvalue()
        if len(made) <= _LARGEST_COPY:
            break
    return made
