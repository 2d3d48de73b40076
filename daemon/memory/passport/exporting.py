"""Writing memory.db as a passport, with a manifest that reveals changed, missing or added files."""

import hashlib
import json
import os
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from daemon.core.concurrency import in_background
from daemon.core.errors import StoreError
from daemon.core.files import remove_file, write_file
from daemon.core.perception import Audience
from daemon.core.value import Value
from daemon.memory.database import Database, Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.records.store import record_of
from daemon.memory.knowledge.shared_files import SenseBytes
from daemon.memory.mirror_folders import MANIFEST
from daemon.memory.passport.kinds import PassportKind, Row, kinds_of, shown_as
from daemon.memory.passport.pictures import PictureFile, pictures_after
from daemon.memory.passport.reading import plain_bytes
from daemon.memory.records import JSONObject, json_object

_AT_ONCE: Final = 100
_FORMAT: Final = 1
_LARGEST_MANIFEST: Final = 512 * 2**20
_LINKS: Final = """
    SELECT 0 AS inward, relation, quote, coalesce((SELECT p.id FROM passport_turns p WHERE
      p.seq = CAST(substr(target, 4) AS INTEGER) AND target IN ('TU_' || p.seq, 'TL_' || p.seq)), target) AS other
    FROM links WHERE origin = :here
    UNION ALL SELECT 1, relation, '', origin FROM links WHERE target = :here
    """
_Part = Callable[..., Coroutine[Any, Any, tuple[Sequence["PassportFile | PictureFile | str"], int]]]


class Exported(Value):
    """The counts of an export, the last digest of its chain, and the ids of rows that could not become a file."""

    records: int
    written: int
    removed: int
    chain: str
    failed: tuple[str, ...] = ()


class PassportFile(Value):
    """A file of a passport: its path, and its content. Equal memories have equal bytes."""

    path: str
    content: JSONObject

    @property
    def bytes(self) -> bytes:
        return as_bytes(self.content)


def as_bytes(content: object) -> bytes:
    """Return JSON in UTF-8 with sorted keys, the same for equal values."""
    return (json.dumps(content, ensure_ascii=False, sort_keys=True, indent=2) + "\n").encode()


async def content_of(transaction: Transaction, kind: PassportKind, where: Row) -> JSONObject | None:
    """Return the content that an export writes for the row with these key columns, or None."""
    key = " AND ".join(f"b.{one} = :{one}" for one in kind.key)
    row = await transaction.one(f"{kind.select} AND {key}", **{one: where[one] for one in kind.key})
    return (await _file(transaction, kind, row)).content if row else None


async def _file(transaction: Transaction, kind: PassportKind, row: Row) -> PassportFile:
    """Return the file of a row. Raises ValueError for a row that is no memory."""
    ours = {name: _decoded(row[name], one.type) for name, one in kind.columns.items()}
    kind.require(ours)
    Audience.parse(row["audience"])
    if kind.record:
        record_of(row)
    name = kind.named(row)
    content: dict[str, Any] = {"type": kind.name, **kind.says}
    for field, column in kind.fields.items():
        content[field] = shown_as(column, ours.pop(column))
    if kind.refs or kind.record:
        here = f"{kind.prefix}_{row['seq']}" if kind.is_turn else row["id"]
        links = sorted(
            await transaction.rows(_LINKS, here=here), key=lambda one: (one["relation"], _number(one["other"]))
        )
        for field, ref in kind.refs.items():
            ends = (one["other"] for one in links if (one["relation"], one["inward"]) == (ref.relation, ref.inward))
            found = list(dict.fromkeys(ends))
            content[field] = found if ref.many else next((one for one in found if one.startswith("EP_")), "")
        seeds = {ref.relation for ref in kind.refs.values() if not ref.inward}
        own = [one for one in links if not one["inward"] and (one["quote"] or one["relation"] not in seeds)]
        said = [{"relation": one["relation"], "target": one["other"], "quote": one["quote"]} for one in own]
        ours |= {"links": said} if kind.record else {}
    (content if kind.id_name else ours)[kind.id_name or "id"] = name
    content["soul_daemon"] = ours
    if kind.record:
        _add_unknown(kind, content, json_object(row["extra"]))
    return PassportFile(kind.path(name, row), content)


def _decoded(value: object, of: type) -> object:
    return json.loads(value) if of in {dict, list} and isinstance(value, str) else value


def _number(name: str) -> tuple[str, int, str]:
    head, _, tail = name.rpartition("_")
    return (head, int(tail), "") if tail.isascii() and tail.isdigit() else (name, 0, "")


def _add_unknown(kind: PassportKind, content: dict[str, Any], extra: Mapping[str, Any]) -> None:
    """Add the fields of a record that only another program knows, and the ids that lead nowhere here."""
    for name, value in extra.items():
        if name == "soul_daemon":
            content[name] = {**value, **content[name]}
        elif name in kind.refs and kind.refs[name].many:
            content[name] += [one for one in value if one not in content[name]]
        elif name not in content or name in kind.says or (name in kind.refs and not content[name]):
            content[name] = value


async def _files_after(transaction: Transaction, kind: PassportKind, last: int) -> tuple[list[PassportFile | str], int]:
    """Return the next files of a kind, ids of rows that are no memory, and the last row's number, 0 at the end."""
    rows = await transaction.rows(
        f"{kind.select} AND b.rowid > :last ORDER BY b.rowid LIMIT :most", last=last, most=_AT_ONCE
    )
    found = list[PassportFile | str]()
    for row in rows:
        try:
            found.append(await _file(transaction, kind, row))
        except sqlite3.Error:
            raise
        except Exception:  # noqa: BLE001 - one row that is no memory must not keep the others from being written
            found.append(kind.named(row))
    return found, rows[-1]["row_number"] if rows else 0


async def _all_files(
    database: Database, pictures: SenseBytes | None
) -> AsyncIterator[Sequence[PassportFile | PictureFile | str]]:
    """Yield all files of memory.db's passport in batches.

    Messages written while their author had paused remembering are left out, and without a folder `pictures` the
    pictures too.
    """
    kinds = await database.read(kinds_of)
    parts: list[_Part] = [partial(_files_after, kind=one) for one in kinds.values()]
    if pictures:
        parts.append(partial(pictures_after, folder=pictures))
    for part in parts:
        last = -1
        while last:
            files, last = await database.read(partial(part, last=max(last, 0)))
            yield files


async def export_passport(database: Database, folder: Path, pictures: SenseBytes | None = None) -> Exported:
    """Write a passport into an empty or new folder, or update the one in it.

    Equal files stay untouched. Without `pictures` their bytes are left out. Raises StoreError for a folder with
    anything else in it, and OSError if the folder can't be written.
    """
    before = await in_background(partial(_prepared, folder))
    done = await write_passport(database, folder, before, pictures)
    assert done is not None
    return done


async def write_passport(
    database: Database,
    folder: Path,
    before: Collection[str],
    pictures: SenseBytes | None,
    *,
    still: Callable[[], bool] = lambda: True,
    durable: bool = True,
) -> Exported | None:
    """Write all files, and delete files of the paths `before` that are no longer exported.

    Equal files stay untouched. Stops with None once `still` returns False. Without `durable` a power failure may lose
    some of it. Raises OSError, and PathBlocked if a link is in the way.
    """
    digests: dict[str, str] = {}
    written, failed = 0, list[str]()
    async for files in _all_files(database, pictures):
        if not still():
            return None
        failed += [one for one in files if isinstance(one, str)]
        whole = [one for one in files if not isinstance(one, str)]
        written += await in_background(partial(_write, folder, whole, digests))
    stale = sorted(set(before) - digests.keys())
    chain = await in_background(partial(_finish, folder, stale, digests, durable=durable))
    return Exported(len(digests), written, len(stale), chain, tuple(failed))


def _write(folder: Path, files: Sequence[PassportFile | PictureFile], digests: dict[str, str]) -> int:
    written = 0
    for file in files:
        content = None if file.path in digests else file.bytes  # several senses show one picture
        if content is not None:  # None: the picture was deleted
            written += write_file(folder, file.path, content, durable=False)
            digests[file.path] = hashlib.sha256(content).hexdigest()
    return written


def _finish(folder: Path, stale: Sequence[str], digests: Mapping[str, str], *, durable: bool) -> str:
    for path in stale:
        remove_file(folder, path)
    if durable:
        os.sync()
    chain = chain_of(digests)
    manifest = {"format": _FORMAT, "records": len(digests), "files": digests, "chain": chain}
    write_file(folder, MANIFEST, as_bytes(manifest), durable=durable)
    return chain


def chain_of(digests: Mapping[str, str]) -> str:
    """Return one digest over all files: each path and content is chained to those before it."""
    chain = ""
    for path in sorted(digests):
        chain = hashlib.sha256(f"{chain}\x1f{path}\x1f{digests[path]}".encode("utf-8", "surrogatepass")).hexdigest()
    return chain


def read_manifest(folder: Path) -> tuple[Mapping[str, str], str] | None:
    """Return the digests of a passport's files by path, and its chain, or None. Raises ValueError, and OSError."""
    try:
        content = plain_bytes(folder / MANIFEST, _LARGEST_MANIFEST)
    except FileNotFoundError:
        return None
    manifest = json.loads(content)
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        raise ValueError("it has a form that this version does not know")
    files, chain = manifest.get("files"), manifest.get("chain")
    if not isinstance(files, dict) or not isinstance(chain, str) or not all(isinstance(v, str) for v in files.values()):
        raise ValueError("it is no manifest")
    return files, chain


def _prepared(folder: Path) -> Mapping[str, str]:
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise StoreError(f"{folder} is no folder", hint="name an empty folder, or one that does not exist yet")
    try:
        known = read_manifest(folder) if folder.exists() else None
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{folder / MANIFEST} can't be read: {error}", hint="name an empty folder") from error
    if known is None and folder.exists() and any(folder.iterdir()):
        raise StoreError(
            f"{folder} holds other files", hint="name an empty folder, one that does not exist yet, or an old passport"
        )
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return known[0] if known else {}
