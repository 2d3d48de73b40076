"""An embedder at an endpoint whose model is exchanged, as an admin sees it: search, stats, doctor, rebuild."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from daemon.cli.checks import Verdict, examine
from daemon.memory.database import open_database
from tests.cli.conftest import call
from tests.fakes import FakeClock
from tests.store.passports import remember


class _EmbeddingEndpoint(ThreadingHTTPServer):
    """Gives vectors of `length` numbers."""

    length = 8


class _Answering(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert isinstance(self.server, _EmbeddingEndpoint)
        vector = [1.0, *[0.5] * (self.server.length - 1)]
        data = [{"object": "embedding", "index": n, "embedding": vector} for n in range(len(asked["input"]))]
        body = json.dumps({"object": "list", "model": "m", "data": data, "usage": {}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Not to standard error."""


@contextmanager
def _serving() -> Iterator[_EmbeddingEndpoint]:
    with _EmbeddingEndpoint(("127.0.0.1", 0), _Answering) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def endpoint(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[_EmbeddingEndpoint]:
    async def fill() -> None:
        async with open_database(home / "memory.db", FakeClock(auto=True)) as database:
            await database.write(partial(remember, said=[], made=[]))

    asyncio.run(fill())
    with _serving() as server:
        monkeypatch.setenv("SOUL_EMBEDDER", "endpoint")
        monkeypatch.setenv("SOUL_EMBEDDER_URL", f"http://127.0.0.1:{server.server_address[1]}/v1")
        monkeypatch.setenv("SOUL_EMBEDDER_MODEL", "m")
        yield server


def _arms() -> dict[str, object]:
    done = call("memory", "search", "who keeps bees?", "--as", "U1", "--place", "D1", "--json")
    arms: dict[str, object] = json.loads(done.stdout)["arms"]
    return arms


def test_where_vectors_have_another_length_text_serves_and_doctor_says_what_helps(endpoint: _EmbeddingEndpoint) -> None:
    assert "have their vectors" in call("memory", "rebuild", "--wait").stdout
    assert _arms() == {"text": True, "vectors": "exact"}
    endpoint.length = 16
    assert _arms() == {"text": True, "vectors": "none"}
    [finding] = [one for one in examine(offline=False) if one.name == "vectors"]
    assert finding.verdict is Verdict.WARN
    assert "vectors have 16 numbers, those that are stored 8" in finding.found
    assert "`soul memory rebuild`" in finding.fix
    assert "have their vectors" in call("memory", "rebuild", "--wait").stdout
    assert _arms() == {"text": True, "vectors": "exact"}
    assert [one.verdict for one in examine(offline=False) if one.name == "vectors"] == [Verdict.OK]
