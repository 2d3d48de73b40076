"""Files that messages show: their rows, written with the message before any download, and the folder of their bytes."""

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from daemon.core.ports.services import MOST_FILES, SharedFile
from daemon.core.sentences import SENTENCES, Sentence
from daemon.memory.database import Transaction
from daemon.memory.records import as_json, json_object

_MOST_NAMED: Final = 20  # files of one message; the rest is ignored


async def store_files(
    transaction: Transaction, conversation: str, ts: str, files: Sequence[SharedFile], now: int
) -> None:
    """Store the files of a message. Those beyond the first MOST_FILES are refused, and known ones are kept."""
    for place, file in enumerate(files[:_MOST_NAMED]):
        too_many = place >= MOST_FILES
        await transaction.insert(
            "shared_files",
            "ON CONFLICT DO NOTHING",
            conversation=conversation,
            ts=ts,
            file=file.id,
            name=file.name,
            media_type=file.media_type,
            size=file.size,
            url=file.url,
            state="refused" if too_many else "waiting",
            reason=reason_as_json(Sentence("file_one_too_many", most=MOST_FILES)) if too_many else "",
            heard_ms=now,
        )


async def drop_files(transaction: Transaction, workspace: str, channel: str, ts: str) -> None:
    """Delete the files of a message in the conversations of all souls."""
    await transaction.run(
        """
        DELETE FROM shared_files WHERE ts = :ts
          AND EXISTS (SELECT 1 FROM conversations c WHERE c.id = shared_files.conversation
                        AND c.workspace = :workspace AND c.channel = :channel)
        """,
        workspace=workspace,
        channel=channel,
        ts=ts,
    )


def reason_as_json(reason: str) -> str:
    """Return a sentence with its facts as JSON, from which it can be rendered later."""
    facts = dict(reason.facts) if isinstance(reason, Sentence) else {}
    return as_json({"key": reason.key if isinstance(reason, Sentence) else "file_damaged", "facts": facts})


def reason_from_json(text: str) -> Sentence:
    """Return the sentence that `reason_as_json` wrote. A general one if another version wrote it."""
    try:
        known = json_object(text)
        key, facts = known["key"], known["facts"]
        if key in SENTENCES and isinstance(key, str) and isinstance(facts, dict):
            return Sentence(key, **facts)
    except (ValueError, KeyError):
        pass
    return Sentence("file_damaged")


FOLDER: Final = "senses"

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_FLOOR: Final = 256 << 20  # bytes that stay free on the disk, for the database
_UNFINISHED: Final = ".part"


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class SenseBytes:
    """The folder of the bytes. Every method blocks. Names that are no digest are ignored."""

    def __init__(self, home: Path) -> None:
        self._folder = home / FOLDER

    def put(self, data: bytes) -> str:
        """Store bytes if the disk has room. Return their digest, or '' if they are not stored."""
        digest = digest_of(data)
        path = self._folder / digest
        if self.has(digest):
            return digest
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if shutil.disk_usage(self._folder).free - len(data) < _FLOOR:
                return ""
            handle, name = tempfile.mkstemp(suffix=_UNFINISHED, dir=self._folder)  # for its owner alone
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        except OSError:
            return ""
        return digest

    def get(self, digest: str) -> bytes | None:
        """Return the bytes. None if they are gone or damaged."""
        if not _DIGEST.fullmatch(digest):
            return None
        try:
            data = (self._folder / digest).read_bytes()
        except OSError:
            return None
        return data if digest_of(data) == digest else None

    def has(self, digest: str) -> bool:
        """Return True if the bytes of this digest are there and undamaged."""
        return self.get(digest) is not None

    def size(self) -> int:
        total = 0
        for name in self.names():
            with suppress(OSError):
                total += (self._folder / name).stat().st_size
        return total

    def remove(self, digest: str) -> None:
        """Delete bytes, if they are there. Raises OSError."""
        if _DIGEST.fullmatch(digest):
            (self._folder / digest).unlink(missing_ok=True)

    def names(self) -> list[str]:
        with suppress(OSError):
            return [path.name for path in self._folder.iterdir() if _DIGEST.fullmatch(path.name)]
        return []

    def remove_unfinished(self, older_than: float) -> None:
        """Delete half-written files of a crash, older than a time (seconds since the epoch)."""
        with suppress(OSError):
            for path in self._folder.glob(f"*{_UNFINISHED}"):
                if path.stat().st_mtime < older_than:
                    path.unlink(missing_ok=True)

    def others_than(self, known: Collection[str], older_than: float) -> list[str]:
        """Return the digests that are not in `known` and were written before a time (seconds since the epoch)."""
        found = []
        for name in self.names():
            with suppress(OSError):
                if name not in known and (self._folder / name).stat().st_mtime < older_than:
                    found.append(name)
        return found
