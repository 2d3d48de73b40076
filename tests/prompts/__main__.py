"""Writes the golden prompts anew: `python -m tests.prompts`; the diff shows what models will read differently."""

import asyncio
import tempfile
from pathlib import Path

from tests.prompts.rendering import GOLDEN, all_files


def main() -> None:
    """Write every file, and delete those that no scene makes any more."""
    with tempfile.TemporaryDirectory() as folder:
        files = asyncio.run(all_files(Path(folder)))
    for old in GOLDEN.glob("*.txt"):
        if old.name not in files:
            old.unlink()
    for name, text in files.items():
        (GOLDEN / name).write_text(text, encoding="utf-8")
    print(f"{len(files)} golden prompts stand in {GOLDEN}")


if __name__ == "__main__":
    main()
