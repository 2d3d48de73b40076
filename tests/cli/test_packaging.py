"""What is declared of the package, what is in its way, and what completes its commands."""

import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from click.testing import CliRunner

from daemon.cli.checks import Verdict
from daemon.cli.checks.machine import namesake
from daemon.cli.commands import soul
from daemon.core.ports.services import SystemClock
from tests.cli.conftest import call
from tests.cli.stocked import add_daemon, stock

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PYTHONS_OWN = {"daemon", "_typeshed"}  # ours, and what type checkers alone know


def imported() -> set[str]:
    """The packages that the daemon imports, anywhere in its modules, without Python's own."""
    lines = re.compile(r"^ *(?:import (\w+)|from (\w+)[\w.]* import )", re.MULTILINE)
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "daemon").rglob("*.py")]
    found = {one or other for text in texts for one, other in lines.findall(text)}
    return found - PYTHONS_OWN - sys.stdlib_module_names


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_package_that_is_imported_is_declared() -> None:
    lines = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["traces"]]
    declared = {_plain(re.split(r"[<>=;\[ ]", line)[0]) for line in lines}
    bring = packages_distributions()
    undeclared = {name for name in imported() if not declared & {_plain(one) for one in bring.get(name, [name])}}
    assert undeclared == set()


def test_all_files_of_the_program_are_packaged() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    patterns = {ROOT / name.replace(".", "/"): found for name, found in declared.items()}
    for path in (path for path in (ROOT / "daemon").rglob("*") if path.is_file()):
        package = next(folder for folder in path.parents if (folder / "__init__.py").exists())
        held = {one for folder in (ROOT / "*", package) for one in patterns.get(folder, ())}
        found = path.suffix in (".py", ".pyc") or any(path in package.glob(pattern) for pattern in held)
        assert found, f"pyproject.toml packages no {path.relative_to(ROOT)}"


def test_the_licence_and_the_authors_are_named_alike_everywhere() -> None:
    plugin = (ROOT / "hooks/.claude-plugin/plugin.json").read_text()
    assert (PROJECT["license"], PROJECT["license-files"]) == ("MIT", ["LICENSE"])
    assert '"license": "MIT"' in plugin
    [author] = PROJECT["authors"]
    assert author["name"] in plugin
    assert author["name"] in (ROOT / "LICENSE").read_text()
    assert PROJECT["name"] != "daemon"


def test_another_package_of_the_same_name_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert namesake([]).verdict is Verdict.OK
    assert namesake([str(ROOT)]).verdict is Verdict.OK
    (tmp_path / "daemon").mkdir()
    (tmp_path / "daemon/__init__.py").write_text("")
    information = tmp_path / "python_daemon-3.1.2.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: python-daemon\nVersion: 3.1.2\n")
    (information / "top_level.txt").write_text("daemon\n")
    found = namesake([str(tmp_path)])
    assert found.verdict is Verdict.WARN
    assert f"{tmp_path}/daemon/__init__.py, the package python-daemon bears the name" in found.found
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/daemon.py").write_text("")
    monkeypatch.setattr("sys.path", [*sys.path, f"{tmp_path}/elsewhere"])
    assert f"{tmp_path}/elsewhere/daemon.py bears the name `daemon` too" in call("doctor", "--offline").stdout


def test_commands_and_what_completes_them_are_given_to_a_shell() -> None:
    for shell in ("bash", "zsh", "fish"):
        done = call("completion", shell)
        assert (done.exit_code, "_SOUL_COMPLETE" in done.stdout) == (0, True), shell
    typed = {"_SOUL_COMPLETE": "bash_complete", "COMP_WORDS": "soul sta", "COMP_CWORD": "1"}
    assert CliRunner().invoke(soul, [], env=typed, prog_name="soul").stdout == "plain,status\n"


def test_the_status_says_by_its_exit_code_whether_a_daemon_works(home: Path) -> None:
    path = stock(home / "memory.db")
    done = call("status", "--healthy")
    assert (done.exit_code, done.stdout) == (1, "No daemon works here.\n")
    add_daemon(path, seen_ms=SystemClock().now_ms())
    done = call("status", "--healthy")
    assert (done.exit_code, done.stdout) == (0, "A daemon works.\n")
