"""The page about a passport's fields: `python -m tests.store.passport_page docs/passport/README.md` writes it."""

import sys
from contextlib import closing
from pathlib import Path
from typing import Final

from daemon.memory.database.sqlite import run_unit, sqlite3
from daemon.memory.passport.kinds import PassportKind, kinds_of

EXAMPLE: Final = Path(__file__).parents[2] / "memory.db.example"
_SAID: Final = {str: "", int: " number", float: " 0 to 1", dict: " object", list: " texts"}
_TOP: Final = """# The files of a passport

A file is one JSON object, and `type` says what it is. The fields of seed 004 are at the top. All others are under
`soul_daemon`, by the names of the columns of memory.db. A field is a text unless it says otherwise. A `time` is
ISO 8601, `…_ms` are milliseconds. [MEMORY.md](../MEMORY.md#the-passport) says what an import does with them.

| `type` | path and id | fields of the seed | `soul_daemon` |
|---|---|---|---|
"""


def page() -> str:
    with closing(sqlite3.connect(f"file:{EXAMPLE}?mode=ro", uri=True)) as example:
        example.row_factory = sqlite3.Row
        kinds = run_unit(kinds_of, example)
    return _TOP + "".join(map(_row, kinds.values()))


def _row(kind: PassportKind) -> str:
    said = {name: _SAID[one.type] for name, one in kind.columns.items()}
    top = [f"`{kind.id_name}`"] if kind.id_name else []
    top += [f"`{name}`{' time' if one.endswith('_ms') else said[one]}" for name, one in kind.fields.items()]
    top += [f"`{name}`{' ids' if one.many else ' id'}" for name, one in kind.refs.items()]
    top += [f'`{name}` "{one}"' for name, one in kind.says.items()]
    ours = [f"`{name}`{said[name]}" for name in kind.columns if name not in kind.fields.values()]
    ours += ["`links`"] * bool(kind.record) + ["`id`"] * (not kind.id_name)
    folder = kind.folder.replace("%Y", "YYYY").replace("%m", "MM") + "/HH" * bool(kind.split_by)
    return f"| `{kind.name}` | `{folder}/{kind.prefix}_….json` | {', '.join(top)} | {', '.join(ours)} |\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
