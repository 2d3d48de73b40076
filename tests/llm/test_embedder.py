"""The embedder that comes with the daemon: its files, its thread, what it makes of texts; and its endpoint in place."""

import asyncio
import shutil
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import numpy as np
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from tokenizers import BertWordPieceTokenizer

from daemon.core.config import Settings
from daemon.core.errors import ConfigError, ModelRefused, ModelUnavailable
from daemon.core.workers import WorkerProcess
from daemon.llm.embedder import MODEL, build_embedder
from daemon.llm.embedder.endpoint import EndpointEmbedder, LocalEmbedder
from daemon.llm.embedder.minilm_worker import WordPiece

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def local() -> Iterator[LocalEmbedder]:
    embedder = LocalEmbedder(MODEL)
    yield embedder
    asyncio.run(embedder.aclose())


async def test_a_vector_has_length_one_and_is_nearest_to_what_means_the_same(local: LocalEmbedder) -> None:
    asked, same, other = await local.embed(
        ["Who repairs the heating?", "The plumber fixes the radiators.", "Who repairs the heating bill's typo?"]
    )
    far = (await local.embed(["We had pasta for lunch."]))[0]
    assert asked @ same > 0.4 > asked @ far
    assert asked @ other < 0.9
    texts = ["", "a", "Grüße aus Köln 👋", "word " * 5_000]
    together = await local.embed(texts)
    for text, vector in zip(texts, together, strict=True):
        assert (vector.shape, str(vector.dtype)) == ((384,), "float32")
        assert float(np.linalg.norm(vector)) == pytest.approx(1.0, abs=1e-5)
        assert np.array_equal((await local.embed([text]))[0], vector)


async def test_a_process_that_begins_while_its_embedder_is_closed_ends_too(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder, loop, begun, closed = LocalEmbedder(MODEL), asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def begin(*arguments: str, env: dict[str, str]) -> WorkerProcess:
        process = WorkerProcess(*arguments, env=env)
        loop.call_soon_threadsafe(begun.set)
        closed.wait()
        return process

    monkeypatch.setattr("daemon.llm.embedder.endpoint.WorkerProcess", begin)
    asking = asyncio.create_task(embedder.embed(["a"]))
    await begun.wait()
    await embedder.aclose()
    closed.set()
    with pytest.raises(ModelUnavailable, match="its process ended"):
        await asking


def test_the_tokens_are_those_of_the_library_that_the_model_was_made_with() -> None:
    raw = (MODEL / "vocab.txt").read_bytes()
    numbers = {word: number for number, word in enumerate(raw.decode().splitlines())}
    library, ours = BertWordPieceTokenizer(vocab=numbers, lowercase=True), WordPiece(raw)
    texts = [
        "Hello, world!",
        "It's 5\u00a0€ -- naïve Übergrößen",
        "日本語 and 한국어",
        "a\u200bb\ufffd\0c\td\r\n",
        "👩‍👧 ok",
        "",
        "x" * 101,
        "unaffable " * 300,
        "DON'T…",
        "e\u0301",
        "ﬁne İstanbul ß",
        "C++ <@U123> `x=1`\x1b[0m",
        "١٢٣ हिन्दी",
    ]
    texts += [chr(code) + "a" for code in range(0x20, 0x600)]
    library.enable_truncation(256)
    assert [one for one in texts if ours.tokens(one, 256) != library.encode(one).ids] == []


async def test_the_event_loop_goes_on_while_texts_are_embedded(local: LocalEmbedder) -> None:
    await local.embed(["warm"])
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async with asyncio.TaskGroup() as group:
        counting = group.create_task(count())
        await local.embed(["a text of some length " * 40] * 3)
        counting.cancel()
    assert turns > 100
    assert threading.active_count() < 20


async def test_its_process_is_begun_anew_where_it_ended_and_nothing_of_it_is_in_this_one(local: LocalEmbedder) -> None:
    [first] = await local.embed(["the same"])
    before = local._process
    assert before is not None
    before.kill()
    [second] = await local.embed(["the same"])
    assert np.array_equal(first, second)
    assert local._process is not before
    assert "onnxruntime" not in sys.modules


def test_nothing_is_imported_before_the_first_text() -> None:
    probe = (
        "import sys; from daemon.core.config import Settings; from daemon.llm.embedder import build_embedder\n"
        "made = build_embedder(Settings()); assert made.id.startswith('minilm-')\n"
        "print([name for name in ('numpy', 'onnxruntime', 'tokenizers', 'chromadb') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


async def test_a_damaged_model_is_refused_by_name(tmp_path: Path) -> None:
    whole = (MODEL / "model.onnx").read_bytes()
    for number, (name, left) in enumerate(
        (("model.onnx", None), ("model.onnx", whole[:-1]), ("SHA256SUMS", None), ("vocab.txt", b"the\n"))
    ):
        folder = Path(shutil.copytree(MODEL, tmp_path / str(number)))
        (folder / name).unlink()
        if left is not None:
            (folder / name).write_bytes(left)
        with pytest.raises(ModelRefused, match="the embedder's") as raised:
            await LocalEmbedder(folder).embed(["x"])
        assert "scripts/build_embedder" in raised.value.hint


def test_the_files_lie_in_the_package_and_none_or_an_endpoint_can_be_chosen() -> None:
    assert (MODEL / "LICENSE").read_text().lstrip().startswith("Apache License")
    assert "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db" in (MODEL / "README.md").read_text()
    assert (MODEL / "model.onnx").stat().st_size < 24_000_000
    assert build_embedder(Settings(embedder="none")) is None
    with pytest.raises(ConfigError, match="SOUL_EMBEDDER"):
        build_embedder(Settings(embedder="endpoint"))


class EmbeddingServer:
    """An OpenAI-compatible endpoint; `answers` is what it says next: vectors or a status."""

    def __init__(self) -> None:
        self.answers: list[list[list[float]] | int] = []
        self.asked: list[dict[str, object]] = []

    async def embed(self, request: web.Request) -> web.Response:
        self.asked.append(await request.json())
        answer = self.answers.pop(0)
        if isinstance(answer, int):
            return web.json_response({"error": {"message": "the words: secret"}}, status=answer)
        data = [{"object": "embedding", "index": at, "embedding": one} for at, one in enumerate(answer)]
        body = {"object": "list", "model": "m", "data": data[::-1], "usage": {"prompt_tokens": 1, "total_tokens": 1}}
        return web.json_response(body)


@pytest.fixture
async def served() -> AsyncIterator[tuple[EmbeddingServer, EndpointEmbedder]]:
    server, app = EmbeddingServer(), web.Application()
    app.router.add_post("/v1/embeddings", server.embed)
    async with TestServer(app) as running:
        embedder = EndpointEmbedder(str(running.make_url("/v1")), "m", None)
        yield server, embedder
        await embedder.aclose()


Served = tuple[EmbeddingServer, EndpointEmbedder]


async def test_an_endpoint_gives_vectors_of_one_length_and_its_failures_are_told_from_a_wrong_set_up(
    served: Served,
) -> None:
    server, embedder = served
    server.answers = [[[3.0, 4.0], [0.0, 2.0]]]
    vectors = await embedder.embed(["a", "b"])
    assert [list(map(float, vector)) for vector in vectors] == [pytest.approx([0.6, 0.8]), [0.0, 1.0]]
    assert (server.asked[0]["model"], server.asked[0]["input"]) == ("m", ["a", "b"])
    assert embedder.id.startswith("m@127.0.0.1")
    server, embedder = served
    failing: tuple[tuple[list[list[float]] | int, type[Exception]], ...] = (
        (503, ModelUnavailable),
        (429, ModelUnavailable),
        (401, ModelRefused),
        ([[0.0, 0.0]], ModelUnavailable),
        ([[1.0, 0.0], [1.0, 0.0]], ModelUnavailable),
    )
    for answer, error in failing:
        server.answers = [[[1.0, 0.0]], answer]
        await embedder.embed(["first"])
        with pytest.raises(error) as raised:
            await embedder.embed(["second"])
        assert "secret" not in str(raised.value)
        assert "SOUL_EMBEDDER" in str(raised.value) or "by itself" in str(raised.value)


async def test_an_endpoint_that_serves_another_model_gives_its_vectors_and_never_two_lengths_at_once(
    served: Served,
) -> None:
    server, embedder = served
    server.answers = [[[1.0, 0.0]], [[0.0, 0.0, 2.0]]]
    await embedder.embed(["first"])
    assert [list(map(float, vector)) for vector in await embedder.embed(["second"])] == [[0.0, 0.0, 1.0]]
    server.answers = [[[1.0, 0.0]] * 32, [[1.0, 0.0, 0.0]]]
    with pytest.raises(ModelUnavailable, match="several lengths") as raised:
        await embedder.embed(["text"] * 33)
    assert "by itself" in raised.value.hint
