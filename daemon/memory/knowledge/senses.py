"""Files that users sent: their states on the way to a record, their bytes, and the search for a picture."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from msgspec.structs import replace

from daemon.core.concurrency import in_background
from daemon.core.errors import IndexDamaged
from daemon.core.perception import Audience, ConversationKey, Readers
from daemon.core.ports.services import MOST_FILES, Clock, FileKind, Image, ReadFile, SharedFile
from daemon.core.sentences import Sentence
from daemon.core.value import Value
from daemon.core.words import terms_of
from daemon.memory.database import Database, Transaction, one_of
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.ranking import rank_words
from daemon.memory.knowledge.records.kinds import RecordKind, Sense
from daemon.memory.knowledge.records.links import Link, Relation, turn_id
from daemon.memory.knowledge.records.store import RECORD_INDEX, put
from daemon.memory.knowledge.shared_files import SenseBytes, reason_as_json, reason_from_json
from daemon.memory.knowledge.soul_states import OwnFeeling, keep_feeling
from daemon.memory.reader_codes import codes_for_readers, record_heard_by
from daemon.memory.records import Speaks, as_json, json_object

COPY_TYPE: Final = "image/jpeg"
"""The media type of every picture that is kept, which is a copy without metadata."""


class SentFile(Value):
    """A file of a message with its `state`: waiting, refused, read or recorded. `turn` is its message's seq, if stored.

    `said_ms` is when the message came. `person` sent it and `audience` may know of it. Both are empty until it is
    stored. `record` is the id of its record, if any. `seq` is 0 for a file that is not kept.
    """

    seq: int
    ts: str
    file: SharedFile
    state: str
    reason: str
    read: ReadFile | None
    digest: str
    kept: int
    said_ms: int
    turn: int | None = None
    person: str = ""
    audience: str = ""
    record: str = ""


class KnownPicture(Value):
    """A picture in memory: its record's id and text, when it was shown, and how well it fits a question."""

    id: str
    text: str
    at_ms: int
    digest: str
    fit: float = 0.0


class Senses:
    """Keeps files and their records for all souls of a memory.db. `most_bytes` limits the folder of pictures."""

    def __init__(self, database: Database, clock: Clock, folder: SenseBytes, most_bytes: int) -> None:
        self._database, self._clock = database, clock
        self._folder, self._most_bytes = folder, most_bytes

    async def of_messages(self, conversation: ConversationKey, timestamps: Sequence[str]) -> list[SentFile]:
        """Return the files of these messages, in order."""
        among, keys = one_of(timestamps)
        rows = await self._database.rows(
            f"""
            SELECT s.*, NULL AS turn, '' AS person, '' AS audience FROM shared_files s
            WHERE conversation = :conversation AND ts IN {among} ORDER BY seq
            """,  # noqa: S608 - numbered names
            conversation=str(conversation),
            **keys,
        )
        return [_file(row) for row in rows]

    async def of_talk(self, conversation: ConversationKey, since_ms: int) -> list[SentFile]:
        """Return the documents and audio files with known words since a time, newest first.

        A recorded file has the words of its record. For pictures there are `latest_picture` and `picture_about`.
        """
        rows = await self._database.rows(
            """
            SELECT s.*, NULL AS turn, '' AS person, '' AS audience, r.text AS line FROM shared_files s
            LEFT JOIN records r ON r.id = s.record
            WHERE s.conversation = :conversation AND s.heard_ms >= :since AND s.kind IN ('document', 'audio')
              AND (s.state = 'read' OR (s.state = 'recorded' AND r.text <> '')) ORDER BY s.seq DESC LIMIT :most
            """,
            conversation=str(conversation),
            since=since_ms,
            most=MOST_FILES,
        )
        return [_of_talk(row) for row in rows]

    async def unrecorded(self, conversation: ConversationKey) -> list[SentFile]:
        """Return the files that are read or waiting, and whose message is stored as a lasting turn."""
        rows = await self._database.rows(
            """
            SELECT s.*, t.seq AS turn, t.author AS person, t.audience FROM shared_files s
            JOIN turns t ON t.conversation = s.conversation AND t.ts = s.ts AND t.speaker = 'person'
            WHERE s.conversation = :conversation AND s.state IN ('waiting', 'read') AND t.passing = 0 ORDER BY s.seq
            """,
            conversation=str(conversation),
        )
        return [_file(row) for row in rows]

    async def keep(self, file: SentFile, read: ReadFile) -> SentFile:
        """Store the content of a read file, and a copy of a picture. The oldest pictures are deleted to make room."""
        image = read.image
        fits = image is not None and len(image.data) <= self._most_bytes
        digest = await in_background(partial(self._folder.put, image.data)) if image is not None and fits else ""
        size = len(image.data) if image is not None and digest else 0

        async def unit(transaction: Transaction) -> None:
            await transaction.run(
                """
                UPDATE shared_files SET state = 'read', kind = :kind, media_type = :media_type, found = :found,
                                        digest = :digest, kept = :kept, url = '', name = :name, size = :size
                WHERE seq = :seq AND state = 'waiting'
                """,
                kind=read.kind,
                media_type=read.media_type,
                found=as_json(_found(read)),
                digest=digest,
                kept=size,
                name=file.file.name,
                size=file.file.size,
                seq=file.seq,
            )
            await self._make_room(transaction)

        await self._database.write(unit)
        if image is not None and digest:  # the same bytes may have been deleted with another message
            await in_background(partial(self._folder.put, image.data))
        return replace(file, state="read", read=read, digest=digest, kept=size)

    async def refuse(self, file: SentFile, reason: str) -> None:
        await self._database.run(
            "UPDATE shared_files SET state = 'refused', reason = :reason, url = '', name = :name WHERE seq = :seq",
            name=file.file.name,
            reason=reason_as_json(reason),
            seq=file.seq,
        )

    async def picture(self, digest: str) -> Image | None:
        """Return a picture that is kept. None if it is gone."""
        data = await in_background(partial(self._folder.get, digest)) if digest else None
        return Image(COPY_TYPE, data) if data is not None else None

    async def record(self, file: SentFile, sense: Sense) -> Sense | None:
        """Store the record of a file with its evidence. None if its message is gone, or it has a record already."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> Sense | None:
            row = await transaction.one(
                """
                SELECT s.digest, t.seq AS turn FROM shared_files s
                JOIN turns t ON t.conversation = s.conversation AND t.ts = s.ts AND t.speaker = 'person'
                WHERE s.seq = :seq AND s.state = 'read' AND t.seq = :turn
                """,
                seq=file.seq,
                turn=file.turn,
            )
            if row is None:
                return None
            evidence = Link("", Relation.EVIDENCE, turn_id(Speaks.PERSON, row["turn"]))
            stored = await put(transaction, sense, now, [evidence])
            await transaction.run(
                "UPDATE shared_files SET state = 'recorded', record = :id, found = '{}' WHERE seq = :seq",
                id=stored.id,
                seq=file.seq,
            )
            return stored

        return await self._database.write(unit)

    async def feel(self, felt: OwnFeeling, where: ConversationKey, audience: Audience) -> None:
        now = self._clock.now_ms()
        await self._database.write(lambda transaction: keep_feeling(transaction, felt, where, audience, now))

    async def latest_picture(self, conversation: ConversationKey, ts: Sequence[str]) -> KnownPicture | None:
        """Return the newest picture of these messages."""
        among, keys = one_of(ts)
        row = await self._database.one(
            f"""
            SELECT s.record AS id, coalesce(r.text, '') AS text, s.heard_ms AS at_ms, s.digest FROM shared_files s
            LEFT JOIN records r ON r.id = s.record
            WHERE s.conversation = :conversation AND s.ts IN {among} AND s.digest <> '' ORDER BY s.seq DESC LIMIT 1
            """,  # noqa: S608 - numbered names
            conversation=str(conversation),
            **keys,
        )
        return KnownPicture(row["id"], row["text"], row["at_ms"], row["digest"]) if row else None

    async def picture_about(self, where: ConversationKey, readers: Readers, query: str) -> KnownPicture | None:
        """Return the picture whose words fit a question best and that the readers may know. None if none fits."""
        if not (terms := terms_of(query)):
            return None
        allowed, values = record_heard_by(readers, where)
        codes = codes_for_readers(where, readers)

        async def unit(transaction: Transaction) -> list[KnownPicture]:
            if await transaction.one("SELECT 1 FROM senses WHERE raw_data_ref <> '' LIMIT 1") is None:
                return []  # the usual case: no picture at all
            words = rank_words(await RECORD_INDEX.find(transaction, codes, terms), {})
            among, keys = one_of(words.best(_COMPARED, {}))
            rows = await transaction.rows(
                f"""
                SELECT r.seq, r.id, r.text, r.at_ms, k.raw_data_ref AS digest
                FROM records r CROSS JOIN senses k
                WHERE k.id = r.id AND r.seq IN {among} AND r.kind = '{RecordKind.SENSE}' AND k.raw_data_ref <> ''
                  AND r.soul = :soul AND r.workspace = :workspace AND {allowed}
                """,  # noqa: S608 - numbered names and constants of this package
                soul=where.soul,
                workspace=where.workspace,
                **values,
                **keys,
            )
            return [
                KnownPicture(row["id"], row["text"], row["at_ms"], row["digest"], words.held.get(row["seq"], 0.0))
                for row in rows
            ]

        try:
            found = await self._database.read(unit) if codes else []
        except IndexDamaged:
            await self._database.write(RECORD_INDEX.distrust)
            raise
        return max(found, key=lambda one: (one.fit, one.at_ms), default=None)

    # -- bytes ---------------------------------------------------------------------------------------------------------

    async def sweep(self, *, everything: bool = False) -> int:
        """Delete the bytes that no file and no record refers to. Return how many were deleted. Raises StoreError.

        `everything` also looks for bytes left by a crash.
        """
        if await self._database.one("SELECT 1 FROM loose_bytes LIMIT 1") is None and not everything:
            return 0
        now = self._clock.now_ms() / 1000
        if everything:
            await in_background(partial(self._folder.remove_unfinished, now - _SETTLED))
            names = await in_background(partial(self._folder.others_than, (), now - _SETTLED))
            await self._database.write(partial(_suspect, names=names))
        gone = 0
        while True:
            some = await self._database.write(self._sweep_some)
            gone += some
            if some < _AT_ONCE:
                return gone

    async def _sweep_some(self, transaction: Transaction) -> int:
        """Delete in one transaction, because a row could otherwise refer to the bytes between check and deletion."""
        gone = 0
        for row in await transaction.rows("SELECT digest FROM loose_bytes LIMIT :most", most=_AT_ONCE):
            if not await _is_referred_to(transaction, row["digest"]):
                try:
                    self._folder.remove(row["digest"])
                except OSError:
                    continue  # it stays noted, and is tried again
            await transaction.run("DELETE FROM loose_bytes WHERE digest = :digest", digest=row["digest"])
            gone += 1
        return gone

    async def _make_room(self, transaction: Transaction) -> None:
        """Delete the oldest pictures until the folder is within its limit. Their records keep their words."""
        rows = await transaction.rows(_KEPT)
        over = sum(row["kept"] for row in rows) - self._most_bytes
        for row in rows:
            if over <= 0:
                return
            over -= row["kept"]
            for table, column in (("shared_files", "digest"), ("senses", "raw_data_ref")):
                await transaction.run(
                    f"UPDATE {table} SET {column} = '' WHERE {column} = :digest",  # noqa: S608 - literals
                    digest=row["digest"],
                )
            await transaction.insert("loose_bytes", "ON CONFLICT DO NOTHING", digest=row["digest"])


# Pictures from a passport have no message here. Their record holds time and size.
_KEPT: Final = """
    SELECT digest, max(at_ms) AS newest, max(kept) AS kept FROM (
      SELECT digest, heard_ms AS at_ms, kept FROM shared_files WHERE digest <> ''
      UNION ALL SELECT k.raw_data_ref, r.at_ms, k.bytes FROM senses k JOIN records r ON r.id = k.id
      WHERE k.raw_data_ref <> '' AND NOT EXISTS (SELECT 1 FROM shared_files s WHERE s.digest = k.raw_data_ref))
    GROUP BY digest ORDER BY newest, digest
    """
_COMPARED: Final = 60  # pictures whose words fit a question
_AT_ONCE: Final = 50  # bytes that are deleted in one transaction
_SETTLED: Final = 3600.0  # seconds after which unknown bytes belong to no running transaction


async def is_shown(transaction: Transaction, digest: str) -> bool:
    """Return True if a sense refers to these bytes."""
    row = await transaction.one(
        "SELECT 1 FROM senses WHERE raw_data_ref = :digest AND raw_data_ref <> '' LIMIT 1", digest=digest
    )
    return row is not None


async def _suspect(transaction: Transaction, names: Sequence[str]) -> None:
    for name in names:
        if not await _is_referred_to(transaction, name):
            await transaction.insert("loose_bytes", "ON CONFLICT DO NOTHING", digest=name)


async def _is_referred_to(transaction: Transaction, digest: str) -> bool:
    row = await transaction.one(
        """
        SELECT EXISTS (SELECT 1 FROM shared_files WHERE digest = :digest AND digest <> '')
            OR EXISTS (SELECT 1 FROM senses WHERE raw_data_ref = :digest AND raw_data_ref <> '') AS yes
        """,
        digest=digest,
    )
    return row is not None and bool(row["yes"])


def _found(read: ReadFile) -> dict[str, object]:
    return {
        "text": read.text,
        "left_out": read.left_out,
        "width": read.width,
        "height": read.height,
        "color_hex": read.color_hex,
    }


def _of_talk(row: sqlite3.Row) -> SentFile:
    file = _file(row)
    if row["line"] is None or file.read is None:
        return file
    return replace(file, record=row["record"], read=replace(file.read, text=row["line"]))


def _file(row: sqlite3.Row) -> SentFile:
    shared = SharedFile(row["file"], row["name"], row["media_type"], row["size"], row["url"])
    refused = row["state"] == "refused"
    return SentFile(
        seq=row["seq"],
        ts=row["ts"],
        file=shared,
        state=row["state"],
        reason=reason_from_json(row["reason"]) if refused else Sentence("file_late"),
        read=_read(row) if row["kind"] else None,
        digest=row["digest"],
        kept=row["kept"],
        said_ms=row["heard_ms"],
        turn=row["turn"],
        person=row["person"],
        audience=row["audience"],
    )


def _read(row: sqlite3.Row) -> ReadFile:
    found = json_object(row["found"])
    width, height = found.get("width"), found.get("height")
    return ReadFile(
        FileKind(row["kind"]),
        row["media_type"],
        str(found.get("text", "")),
        str(found.get("left_out", "")),
        width if isinstance(width, int) else 0,
        height if isinstance(height, int) else 0,
        str(found.get("color_hex", "")),
    )
