"""Writes the page of features anew: `python -m tests.matrix docs/FEATURES.md`."""

import sys
from pathlib import Path

from tests.matrix.page import page

if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
