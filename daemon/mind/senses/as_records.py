"""Makes records of what was seen, heard and read."""

from collections.abc import Mapping
from typing import Final, Literal

from daemon.core.perception import Audience, ConversationKey
from daemon.core.ports.files import FileKind
from daemon.core.telemetry.redaction import remove_keys
from daemon.memory.knowledge.records.kinds import Qualia, Sense, Trust
from daemon.memory.knowledge.senses import SentFile
from daemon.mind.steps.look import Seen

LONGEST_LINE: Final = 4_000
"""Characters of a record's text, which is what is searched and shown."""

_Kind = Literal["image", "audio", "document"]
_TYPES: Final[Mapping[FileKind, _Kind]] = {
    FileKind.IMAGE: "image",
    FileKind.AUDIO: "audio",
    FileKind.DOCUMENT: "document",
}


def sense_of_file(
    file: SentFile, where: ConversationKey, soul: str, physio: Mapping[str, float], seen: Seen | None
) -> Sense:
    """The record of a file that was read; `seen` is what was seen on a picture, None where no model could see it."""
    read = file.read
    assert read is not None  # the caller has read it
    features: dict[str, object] = {"name": file.file.name}
    if read.kind is FileKind.IMAGE:
        features |= {"width": read.width, "height": read.height, "seen": seen is not None}
        if seen is not None:
            features |= {"description": seen.description, "visible_text": seen.visible_text}
    elif read.left_out:
        features["left_out"] = read.left_out
    qualia = _qualia(read.color_hex, seen)
    return Sense(
        soul=soul,
        workspace=where.workspace,
        audience=Audience.parse(file.audience),
        channel=where.channel,
        text=_line(file, seen),
        at_ms=file.said_ms,
        trust=Trust.DOCUMENT,
        significance=qualia.significance,
        conversation=str(where),
        person=file.person,
        data_type=_TYPES[read.kind],
        name=file.file.name,
        media_type=read.media_type,
        raw_data_ref=file.digest,
        bytes=file.kept or file.file.size,
        qualia=qualia,
        features=features,
        physio_snapshot=physio,
    )


def _line(file: SentFile, seen: Seen | None) -> str:
    read, name = file.read, file.file.name
    assert read is not None
    match read.kind:
        case FileKind.IMAGE if seen is None:
            return f"The picture {name}, {read.width} by {read.height} pixels; what is on it was not seen."
        case FileKind.IMAGE:
            assert seen is not None
            written = f" On it is written: {seen.visible_text}" if seen.visible_text else ""
            line = f"The picture {name}: {seen.description or 'nothing could be made out.'}{written}"
        case FileKind.AUDIO:
            line = f"The recording {name}: {read.text}"
        case FileKind.DOCUMENT:
            line = f"The file {name}: {read.text}"
    return remove_keys(line)[:LONGEST_LINE]


def _qualia(color_hex: str, seen: Seen | None) -> Qualia:
    """How it felt; the colour is what was measured, never what a model says."""
    color = color_hex or Qualia().color_hex
    if seen is None:
        return Qualia(color_hex=color)
    return Qualia(color, seen.texture or "neutral", seen.soundscape, seen.temperature_feel or "neutral", seen.intensity)
