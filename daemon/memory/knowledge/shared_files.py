"""Files that messages show: rows that the inbox writes with the message, before anything is fetched."""

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

_MOST_NAMED: Final = 20  # of the files of one message; the rest is not even named


async def store_files(
    transaction: Transaction, conversation: str, ts: str, files: Sequence[SharedFile], now: int
) -> None:
    """Store the files of a message; those beyond the first MOST_FILES are refused, those that are known are kept."""
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
    """Delete the files of a message, whichever soul has it."""
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
    """A sentence with its facts, so that it can be said in any words later."""
    facts = dict(reason.facts) if isinstance(reason, Sentence) else {}
    return as_json({"key": reason.key if isinstance(reason, Sentence) else "file_damaged", "facts": facts})


def reason_from_json(text: str) -> Sentence:
    """What `reason_as_json` wrote; a reason of another version is a general one."""
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
_FLOOR: Final = 256 << 20  # bytes that stay free on the disk: words go first
_UNFINISHED: Final = ".part"


def digest_of(data: bytes) -> str:
    """The name under which bytes are kept."""
    return hashlib.sha256(data).hexdigest()


class SenseBytes:
    """The folder. Every method blocks; what is no digest is no name of a file."""

    def __init__(self, home: Path) -> None:
        self._folder = home / FOLDER

    def put(self, data: bytes) -> str:
        """Keep bytes, if the disk has room for them; gives their digest, empty where they are not kept."""
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
        """The bytes; None where they are gone, or are not what they were."""
        if not _DIGEST.fullmatch(digest):
            return None
        try:
            data = (self._folder / digest).read_bytes()
        except OSError:
            return None
        return data if digest_of(data) == digest else None

    def has(self, digest: str) -> bool:
        """Whether bytes lie there under this digest, and are what they were."""
        return self.get(digest) is not None

    def size(self) -> int:
        """How many bytes lie there."""
        total = 0
        for name in self.names():
            with suppress(OSError):
                total += (self._folder / name).stat().st_size
        return total

    def remove(self, digest: str) -> None:
        """Delete bytes; those that are gone are gone. Raises OSError."""
        if _DIGEST.fullmatch(digest):
            (self._folder / digest).unlink(missing_ok=True)

    def names(self) -> list[str]:
        """The digests of all that lies there."""
        with suppress(OSError):
            return [path.name for path in self._folder.iterdir() if _DIGEST.fullmatch(path.name)]
        return []

    def remove_unfinished(self, older_than: float) -> None:
        """Delete what a crash has left half written before a time (seconds since the epoch)."""
        with suppress(OSError):
            for path in self._folder.glob(f"*{_UNFINISHED}"):
                if path.stat().st_mtime < older_than:
                    path.unlink(missing_ok=True)

    def others_than(self, known: Collection[str], older_than: float) -> list[str]:
        """What is not known and was written before a time (seconds since the epoch)."""
        found = []
        for name in self.names():
            with suppress(OSError):
                if name not in known and (self._folder / name).stat().st_mtime < older_than:
                    found.append(name)
        return found
