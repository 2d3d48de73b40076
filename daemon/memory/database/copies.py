"""Backup copies of memory.db: their folder, names, rotation, and the room for one more."""

import datetime as dt
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from daemon.core.errors import StoreError
from daemon.core.value import Value

QUARTER_MS: Final = 15 * 60 * 1000
_HOUR_MS: Final = 3600 * 1000
_DAY_MS: Final = 24 * _HOUR_MS
_QUARTERS_LAST_MS: Final = 3 * _HOUR_MS
_DAYS_KEPT: Final = 14
_KEPT_FREE: Final = 2  # times the size of memory.db
_SLOWEST: Final = 0.5e6  # bytes a second: a large file is copied less often, 43 GB a day at most
_NAME: Final = re.compile(r"memory-(\d{8}T\d{6})\.(\d{3})Z\.db")
PARTIAL: Final = ".partial"


class CopyRoom(Value):
    """The sizes in bytes of the whole disk, its free space, memory.db, and the limit of all copies together."""

    disk: int
    free: int
    file: int
    most: int


def folder_beside(path: Path) -> Path:
    return path.parent / "backups"


def room_for(path: Path, directory: Path, share: float) -> CopyRoom:
    """Return the room for copies of the file at `path`, which may take `share` (0..1) of the disk. Raises OSError."""
    disk = shutil.disk_usage(directory)
    file = sum(found.stat().st_size for found in (path, path.with_name(f"{path.name}-wal")) if found.exists())
    return CopyRoom(disk.total, disk.free, file, int(disk.total * share))


def pause_ms(file: int) -> int:
    """Return the time between two copies: a quarter of an hour, longer for a large file."""
    return max(QUARTER_MS, int(file / _SLOWEST * 1000))


def name_at(now_ms: int) -> str:
    """Return the name of a copy made at a time, e.g. `memory-20260131T081500.250Z.db`."""
    moment = dt.datetime.fromtimestamp(now_ms / 1000, dt.UTC)
    return f"memory-{moment:%Y%m%dT%H%M%S}.{now_ms % 1000:03d}Z.db"


def made_at(name: str) -> int | None:
    """Return the time of the copy with this name in ms, or None for any other name."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    with suppress(ValueError):
        moment = dt.datetime.strptime(f"{found[1]}+0000", "%Y%m%dT%H%M%S%z")
        return int(moment.timestamp()) * 1000 + int(found[2])
    return None


def all_copies(directory: Path) -> dict[Path, int]:
    """Return the copies in a folder with their times, oldest first. A missing folder has none."""
    paths = directory.iterdir() if directory.is_dir() else ()
    made = ((path, moment) for path in paths if (moment := made_at(path.name)) is not None)
    return dict(sorted(made, key=lambda item: item[1]))


def newest_copy(directory: Path, now_ms: int) -> int | None:
    """Return the time (ms) up to which the newest copy holds everything, or None without a copy.

    The time of the file counts if it is later than the name's: nothing had changed until then. Copies and times from
    the future are ignored.
    """
    past = {path: moment for path, moment in all_copies(directory).items() if moment <= now_ms}
    if not past:
        return None
    path, moment = list(past.items())[-1]
    with suppress(FileNotFoundError):  # another daemon deleted it
        touched = int(path.stat().st_mtime * 1000)
        return touched if moment < touched <= now_ms else moment
    return moment


def rotate(directory: Path, now_ms: int, room: CopyRoom, *, wanted: int = 0) -> tuple[Path, ...]:
    """Delete old copies and leftover temporary files, and return the deleted paths. Raises OSError.

    The newest copy of each quarter of an hour stays for three hours. That of each hour stays for a day, that of each
    day for 14 days (UTC). Fewer stay, evenly spread, if `wanted` more bytes would exceed the limit of all copies. Fewer
    stay also if less than twice the size of memory.db would be free. The newest always stays.
    """
    made = all_copies(directory)
    kept = _in_slots(made, now_ms)
    gone = [path for path in made if path not in kept]
    gone += [path for path in directory.glob(f".memory-*{PARTIAL}*") if _is_left_over(path, now_ms, room)]
    sizes = {path: _size(path) for path in (*made, *gone)}
    free = room.free + sum(sizes[path] for path in gone)
    taken = sum(sizes[path] for path in kept)
    while len(kept) > 1 and (taken + wanted > room.most or free - wanted < _KEPT_FREE * room.file):
        path = _least_missed(kept, now_ms)
        del kept[path]
        gone.append(path)
        taken -= sizes[path]
        free += sizes[path]
    for path in gone:
        path.unlink(missing_ok=True)
    return tuple(sorted(gone))


def require_room(room: CopyRoom, directory: Path) -> None:
    """Raise StoreError if a copy would leave less than twice the size of memory.db free."""
    needed = (1 + _KEPT_FREE) * room.file
    if room.free < needed:
        raise StoreError(
            f"no room for a copy in {directory}: {room.free / 2**30:.1f} GiB free, {needed / 2**30:.1f} needed",
            hint="free space on its disk; until then the newest copy stays as it is",
        )


def _in_slots(made: Mapping[Path, int], now_ms: int) -> dict[Path, int]:
    days = sorted({moment // _DAY_MS for moment in made.values()})[-_DAYS_KEPT:]
    kept = {
        *_newest_of_each(made, lambda moment: moment // QUARTER_MS, since=now_ms - _QUARTERS_LAST_MS),
        *_newest_of_each(made, lambda moment: moment // _HOUR_MS, since=now_ms - _DAY_MS),
        *_newest_of_each(made, lambda moment: moment // _DAY_MS, since=days[0] * _DAY_MS if days else 0),
    }
    return {path: moment for path, moment in made.items() if path in kept}


def _newest_of_each(made: Mapping[Path, int], slot: Callable[[int], int], *, since: int) -> Iterable[Path]:
    return {slot(moment): path for path, moment in made.items() if moment >= since}.values()


def _least_missed(kept: Mapping[Path, int], now_ms: int) -> Path:
    """Return the copy with the closest neighbours, relative to age, or the older of two."""
    ages = [(path, now_ms - moment + QUARTER_MS) for path, moment in kept.items()]
    if len(ages) == 2:  # noqa: PLR2004 - the newest and another
        return ages[0][0]
    between = zip(ages, ages[1:], ages[2:], strict=False)
    return min(between, key=lambda three: three[0][1] / max(1, three[2][1]))[1][0]


def _size(path: Path) -> int:
    with suppress(FileNotFoundError):  # another daemon deleted it
        return path.stat().st_size
    return 0


def _is_left_over(path: Path, now_ms: int, room: CopyRoom) -> bool:
    try:
        return path.stat().st_mtime * 1000 < now_ms - pause_ms(room.file)
    except FileNotFoundError:
        return False
