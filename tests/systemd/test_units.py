"""systemd verifies the shipped units without a warning and rates their exposure low."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from pydantic import SecretStr

from daemon.core.config import Settings
from daemon.core.config.sources import environment_name
from daemon.core.systemd import ExitCode
from tests.fakes import TIMEOUT
from tests.systemd.conftest import REPOSITORY, Checkout

BAR = 12  # tenths: 1.2

shipped = pytest.mark.parametrize("name", ["soul.service", "soul-system.service"])
needs_analyzer = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is missing: THE UNITS ARE NOT VERIFIED HERE"
)


@pytest.fixture(params=["user", "system"])
def unit(request: pytest.FixtureRequest, checkout: Checkout, tmp_path: Path) -> Path:
    """The unit as installed, for one person or for a server."""
    if request.param == "user":
        assert checkout.install().returncode == 0
        return checkout.unit
    assert checkout.install("--system", destdir=str(tmp_path)).returncode == 0
    return tmp_path / "etc/systemd/system/soul.service"


def _analyze(*arguments: str | Path, runtime: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["systemd-analyze", "--no-pager", *arguments],
        env={"PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(runtime)},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )


@pytest.mark.slow
@needs_analyzer
def test_a_unit_exposes_little(unit: Path, tmp_path: Path) -> None:
    scope = ("--user",) if "/user/" in str(unit) else ()
    done = _analyze("verify", *scope, unit, runtime=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    # the analyzer takes a unit without User= for one that runs as root, which a person's manager never does
    text = unit.read_text()
    unit.write_text(text if "\nUser=" in text else text.replace("[Service]\n", "[Service]\nUser=other\n"))
    done = _analyze("security", "--offline=yes", f"--threshold={BAR}", unit, runtime=tmp_path)
    assert done.returncode == 0, done.stdout
    found = re.search(r"exposure level for \S+: ([\d.]+)", done.stdout)
    assert found is not None
    assert 0 < float(found[1]) * 10 <= BAR
    unit.write_text("".join(line for line in unit.read_text().splitlines(True) if not line.startswith("SystemCall")))
    assert _analyze("security", "--offline=yes", f"--threshold={BAR}", unit, runtime=tmp_path).returncode == 1
    unit.write_text(unit.read_text().replace("WatchdogSec=", "WatchdogSecs="))
    assert "WatchdogSecs" in _analyze("verify", unit, runtime=tmp_path).stderr


@pytest.mark.slow
@needs_analyzer
def test_a_service_with_tools_is_verified_and_exposes_little_more(checkout: Checkout, tmp_path: Path) -> None:
    assert checkout.install("--system", "--tools", destdir=str(tmp_path)).returncode == 0
    unit = tmp_path / "etc/systemd/system/soul.service"
    folder = unit.with_name("soul.service.d")
    done = _analyze("verify", unit, runtime=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    unit.write_text(unit.read_text() + (folder / "tools.conf").read_text())
    assert _analyze("security", "--offline=yes", "--threshold=15", unit, runtime=tmp_path).returncode == 0


@shipped
def test_the_unit_holds_the_lines_that_the_daemon_relies_on(name: str) -> None:
    lines = (REPOSITORY / "systemd" / name).read_text().splitlines()
    assert f"RestartPreventExitStatus={ExitCode.CONFIGURATION.value}" in lines
    for line in ("Type=notify", "NotifyAccess=main", "WatchdogSec=60", "Restart=always", "KillMode=mixed"):
        assert line in lines
    assert "OOMPolicy=continue" in lines, "an MCP server that takes too much memory ends alone"
    assert any("PYTHONSAFEPATH=1" in line for line in lines)
    if "User=soul" in lines:
        for line in ("IPAddressDeny=link-local multicast", "SocketBindDeny=any"):
            assert line in lines
        ports = {int(line.rpartition(":")[2]) for line in lines if line.startswith("SocketBindAllow=tcp:")}
        assert ports == {Settings.model_fields[name].get_default() for name in ("workspace_port", "http_port")}
    stop = next(int(line.partition("=")[2]) for line in lines if line.startswith("TimeoutStopSec="))
    assert Settings.model_fields["drain"].get_default() < stop
    secrets = {
        environment_name(name, field).lower().replace("_", "-")
        for name, field in Settings.model_fields.items()
        if field.annotation == SecretStr | None
    }
    loaded = {re.split("[=:]", line)[1]: line for line in lines if line.startswith("LoadCredential=")}
    defaults = {re.split("[=:]", line)[1]: line for line in lines if line.startswith("SetCredential=")}
    assert loaded.keys() == defaults.keys() == secrets
    assert all(line.endswith(":\\n") for line in defaults.values())
    assert next(line for line in lines if line.startswith("Environment=")).count("=") == 4
