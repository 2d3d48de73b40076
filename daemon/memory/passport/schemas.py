"""The JSON Schemas of a passport's files, written by `python -m daemon.memory.passport.schemas FOLDER`."""

import sys
from collections.abc import Mapping
from pathlib import Path

from daemon.memory.passport.forms import FORMS
from daemon.memory.passport.rendering import as_bytes

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schemas() -> Mapping[str, bytes]:
    """Return the schema of each type of file, by the name of its published file."""
    return {
        f"{kind}.schema.json": as_bytes({"$schema": _DIALECT, **form.model_json_schema()})
        for kind, form in FORMS.items()
    }


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in schemas().items():
        (folder / name).write_bytes(content)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
