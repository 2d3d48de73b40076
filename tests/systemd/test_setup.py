"""`soul setup` in an account with nothing in it: the link, the tokens, the unit."""

import json
import os
import pty
import stat
import subprocess
import sys
import urllib.parse

import pytest

from daemon.cli.setup import create_link
from daemon.local_slack.server import SCOPES, WorkspaceServer
from tests.cli.services import workspace
from tests.fakes import TIMEOUT
from tests.systemd.conftest import REPOSITORY, Checkout

pytestmark = pytest.mark.slow


@pytest.fixture
def fresh(checkout: Checkout) -> Checkout:
    """A checkout with its program, and a systemctl that notes what it is asked."""
    for folder in ("daemon", "souls"):
        (checkout.code / folder).symlink_to(REPOSITORY / folder)
    programs = checkout.home / "bin"
    programs.mkdir()
    (programs / "systemctl").write_text(f'#!/bin/sh\necho "$@" >>{checkout.home}/asked\n')
    (programs / "systemctl").chmod(0o755)
    return checkout


def _environment(checkout: Checkout, server: WorkspaceServer) -> dict[str, str]:
    return {
        "HOME": str(checkout.home),
        "PATH": f"{checkout.home}/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(checkout.code), *filter(None, sys.path)]),
        "SLACK_API_URL": server.api_url,
    }


def set_up(
    checkout: Checkout, server: WorkspaceServer, *arguments: str, given: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run `soul setup` to its end, without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "daemon", "setup", *arguments],
        input=given,
        env=_environment(checkout, server),
        cwd=checkout.home,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )


def _kept(checkout: Checkout) -> dict[str, str]:
    if not checkout.credentials.exists():
        return {}
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in checkout.credentials.iterdir())
    return {path.name: path.read_text().strip() for path in checkout.credentials.iterdir()}


def test_tokens_from_a_pipe_are_tried_kept_and_the_unit_is_written_and_started(fresh: Checkout) -> None:
    with workspace() as server:
        tokens = f"SLACK_BOT_TOKEN={server.bot_token}\nexport SLACK_APP_TOKEN='{server.app_token}'\n"
        done = set_up(fresh, server, "--start", given=tokens)
        again = set_up(fresh, server, given=tokens)
    assert (done.returncode, again.returncode) == (0, 0), done.stderr + again.stderr
    assert _kept(fresh) == {"slack-bot-token": server.bot_token, "slack-app-token": server.app_token}
    assert f"bot {server.bot_user.id} in workspace {server.team.id}" in done.stdout
    assert f"wrote {fresh.unit}" in done.stdout
    assert "ExecStart=" in fresh.unit.read_text()
    asked = (fresh.home / "asked").read_text().splitlines()
    assert asked == ["--user daemon-reload", "--user enable soul.service", "--user restart soul.service"]
    assert all(token not in done.stdout + done.stderr for token in (server.bot_token, server.app_token))


def test_the_link_creates_the_app_that_the_manifest_describes(fresh: Checkout) -> None:
    assert create_link("x" * 8_000) == "", "one that is too long"
    with workspace() as server:
        done = set_up(fresh, server, "--plain")
    link = next(line for line in done.stdout.splitlines() if line.startswith("1. ")).partition(": ")[2]
    assert link.startswith("https://api.slack.com/apps?new_app=1&manifest_json=")
    manifest = json.loads(urllib.parse.parse_qs(urllib.parse.urlsplit(link).query)["manifest_json"][0])
    assert "im:history" in manifest["oauth_config"]["scopes"]["bot"]
    assert "assistant:write" not in manifest["oauth_config"]["scopes"]["bot"]
    assert done.returncode == 78
    assert "standard input holds no SLACK_BOT_TOKEN and SLACK_APP_TOKEN" in done.stderr
    assert "soul setup <tokens.env" in done.stderr


def test_tokens_that_cannot_be_used_are_not_kept(fresh: Checkout) -> None:
    def says(server: WorkspaceServer, given: str, what: str) -> None:
        done = set_up(fresh, server, given=given)
        assert (done.returncode, what in done.stdout + done.stderr) == (78, True), done.stderr
        assert (_kept(fresh), fresh.unit.exists()) == ({}, False)

    with workspace() as server:
        says(server, f"xoxb-1-wrong\n{server.app_token}\n", "invalid_auth")
        says(server, f"{server.bot_token}\n", "holds no SLACK_APP_TOKEN")
    with workspace(scopes=SCOPES - {"im:history"}) as server:
        says(server, f"{server.bot_token}\n{server.app_token}\n", "missing: im:history")


def test_at_a_terminal_it_asks_again_for_a_wrong_kind_and_shows_nothing(fresh: Checkout) -> None:
    with workspace() as server:
        ours, theirs = pty.openpty()
        program = subprocess.Popen(
            [sys.executable, "-m", "daemon", "setup"],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=_environment(fresh, server),
            cwd=fresh.home,
            start_new_session=True,
        )
        os.close(theirs)
        said = ""
        for typed in (server.app_token, server.bot_token, server.app_token):
            said += _read_until(ours, "not shown: ")
            os.write(ours, f"{typed}\n".encode())
        said += _read_until(ours, "")
        assert program.wait(TIMEOUT) == 0, said
        os.close(ours)
    assert _kept(fresh) == {"slack-bot-token": server.bot_token, "slack-app-token": server.app_token}
    assert "That is another kind of token, or none." in said
    assert all(token not in said for token in (server.bot_token, server.app_token))


def _read_until(terminal: int, words: str) -> str:
    """What is written to a terminal up to some words, or (no words) to its end."""
    said = ""
    while not words or not said.endswith(words):
        try:
            piece = os.read(terminal, 4_096).decode("utf-8", "replace")
        except OSError:  # the other end is closed
            piece = ""
        if not piece:
            break
        said += piece
    return said


def test_a_program_that_came_as_a_package_says_how_to_go_on(fresh: Checkout) -> None:
    assert os.access(REPOSITORY / "scripts/setup", os.X_OK)
    assert "soul setup" in (REPOSITORY / "scripts/setup").read_text()
    (fresh.code / "scripts/install").unlink()
    with workspace() as server:
        done = set_up(fresh, server)
    assert (done.returncode, "this program came as a package" in done.stderr) == (78, True)
    assert done.stdout == ""
