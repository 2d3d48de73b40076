"""The one SQLite library of this process: the newer one that a wheel carries, where there is one, else Python's own.

Two libraries in one process drop each other's locks on a file (sqlite.org/howtocorrupt.html, section 2.2), so every
module takes `sqlite3` from here. The wheel (pysqlite3) is Python's module around a SQLite that is free of the WAL-reset
fault, which the library of most systems has; see docs/ADMIN.md, "SQLite".
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
else:
    try:
        from pysqlite3 import dbapi2 as sqlite3
    except ImportError:  # no wheel for this system
        import sqlite3

__all__ = ["sqlite3"]
