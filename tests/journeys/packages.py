"""Packages that are installed for a test, as `pip install` writes them."""

import shutil
import tomllib
from pathlib import Path

_EXAMPLE = Path(__file__).parents[2] / "examples" / "soul-extras"


def installed(site: Path, name: str, points: dict[str, dict[str, str]], version: str = "1.0.0") -> None:
    """Write what `pip install` writes of a package beside its modules."""
    meta = site / f"{name.replace('-', '_')}-{version}.dist-info"
    meta.mkdir(parents=True)
    (meta / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    groups = (
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in names.items())
        for group, names in points.items()
    )
    (meta / "entry_points.txt").write_text("\n".join(groups))


def install_example(site: Path) -> None:
    """Install the example as its `pyproject.toml` says."""
    project = tomllib.loads((_EXAMPLE / "pyproject.toml").read_text())["project"]
    shutil.copytree(_EXAMPLE / "soul_extras", site / "soul_extras")
    installed(site, project["name"], project["entry-points"], project["version"])


def brings(site: Path, code: str, group: str = "actions", point: str = "odd", package: str = "brought") -> None:
    """Install a package of one module, whose `IT` is what it brings."""
    (site / f"{package}.py").write_text(code)
    installed(site, package, {f"soul_daemon.{group}": {point: f"{package}:IT"}})
