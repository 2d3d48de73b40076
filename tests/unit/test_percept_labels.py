"""A percept is labelled by the embedder on this machine, never by a call, and by none where that is slow or fails."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from daemon.app.minds import Meanings, labels_of
from daemon.core.config import Settings
from daemon.core.errors import ModelUnavailable
from daemon.core.ports.vectors import Unrelated
from daemon.memory.retrieval.keeper import do_without
from daemon.mind.thought_input import LABELS, Labels
from tests.fake_embedder import WordEmbedder

if TYPE_CHECKING:
    from daemon.core.ports.vectors import Vector

LOOKS = 8  # by which the list is embedded


async def known(embedder: WordEmbedder) -> Labels:
    labels = Labels(embedder)
    for _ in range(LOOKS):
        await labels.of(["hello"])
    return labels


async def test_the_three_nearest_labels_say_what_a_text_is_about_and_none_where_nothing_embeds() -> None:
    embedder = WordEmbedder()
    labels = Labels(embedder)
    assert await labels.of(["hello"]) == {}
    assert 0 < len(embedder.texts) < len(LABELS)
    labels = await known(embedder)
    before = len(embedder.texts)
    await labels.of(["hello"])
    assert len(embedder.texts) == before + 1
    found = await labels.of(["the weather and the food and the money", "a failed build"])
    assert set(found["the weather and the food and the money"].split("; ")) == {"weather", "food", "money"}
    assert found["a failed build"].startswith("a failed build; ")
    assert await Labels().of(["hello"]) == {}
    embedder = WordEmbedder()
    labels = await known(embedder)
    embedder.down = ModelUnavailable("it is down", hint="wait")
    assert await labels.of(["hello"]) == {}

    class Never(WordEmbedder):
        async def embed(self, texts: Sequence[str]) -> "list[Vector]":
            await asyncio.Event().wait()
            return await super().embed(texts)

    assert await Labels(Never()).of(["hello"]) == {}
    embedder = WordEmbedder()
    meanings = Meanings(embedder, None, do_without)  # type: ignore[arg-type]
    for where in ("endpoint", "none"):
        labels = labels_of(Settings(embedder=where, embedder_url="http://127.0.0.1:1/v1"), meanings)
        await labels.of(["hello"])
    assert embedder.texts == []


async def test_a_label_that_is_no_nearer_than_chance_is_left_out() -> None:
    class Measured(WordEmbedder):
        @property
        def unrelated(self) -> Unrelated:  # type: ignore[override]
            return Unrelated(0.08, 0.15)

    labels = {"a failed build": "a failed build", "the weather": "weather", "xylophones": ""}
    assert await (await known(Measured())).of(list(labels)) == labels
