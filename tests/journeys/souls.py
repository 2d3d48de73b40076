"""Folders of souls with just what a journey needs."""

from collections.abc import Mapping
from pathlib import Path

POETIC = 'registers = ["hymn", "lament"]\nimage_domains = ["sea", "kiln"]\n'
CONTACTS = '[[contacts]]\nname = "Ben"\nslack = "U0BEN"\ncan = "grants access to the vault"\n'


def write_soul(
    home: Path,
    name: str = "tess",
    more: str = "",
    *,
    shown: str = "Tess",
    personality: str = "You are Tess, a weaver.",
    modes: Mapping[str, str] | None = None,
) -> str:
    """Write a soul's folder; `more` is further TOML, `modes` the manifests of its modes. Gives its name.

    The personality of each mode is the sentence `This is the NAME voice of SHOWN.`
    """
    folder = home / "souls" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "soul.toml").write_text(f'name = "{name}"\ndisplay_name = "{shown}"\n{more}', encoding="utf-8")
    (folder / "soul.md").write_text(personality, encoding="utf-8")
    for mode, manifest in (modes or {}).items():
        (folder / mode).mkdir(exist_ok=True)
        (folder / mode / "soul.md").write_text(f"This is the {mode} voice of {shown}.", encoding="utf-8")
        (folder / mode / "mode.toml").write_text(manifest, encoding="utf-8")
    return name
