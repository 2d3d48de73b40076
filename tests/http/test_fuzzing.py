"""The running server under schemathesis: no 5xx, and every response is as the description says."""

import asyncio
import sys
from pathlib import Path

import pytest

from tests.http.conftest import endpoint
from tests.http.daemons import TOKEN, HttpHome
from tests.http.speech_endpoint import Endpoint

__all__ = ["endpoint"]

SECONDS = 240


ANSWERS = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "401", "404", "409", "412", "429", "5xx"]
[checks.missing_required_header]
expected-statuses = ["428"]
"""
"""Codes of our own: a version that is not the newest, none at all, and more codes for pairing than one may have."""


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_no_request_gets_an_undescribed_response(empty: HttpHome, endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.more.set()
    await empty.start(tts_url=endpoint.url)
    empty.now.queued["s"] = ("models_the_visitor",)
    (tmp_path / "schemathesis.toml").write_text(ANSWERS)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "schemathesis.cli", "run", empty.url("/openapi.json")),
        *("--exclude-operation-id", "watch_context"),  # it ends with its client: tests/http/test_contexts.py
        *("--exclude-operation-id", "session_notes"),  # it may hold a request for 25 s: tests/http/test_sessions.py
        *("--exclude-operation-id", "mcp"),  # it answers in the form of its own protocol: tests/http/test_mcp.py
        *("--header", f"Authorization: Bearer {TOKEN}"),
        *("--checks", "all", "--max-examples", "12", "--seed", "1", "--phases", "examples,coverage,fuzzing"),
        *("--continue-on-failure", "--request-timeout", "20", "--warnings", "off", "--no-color"),
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(SECONDS):
            output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, output.decode()[-6000:]
    assert not empty.events.named("http.crashed")
    assert empty.events.named("cycle.committed")
