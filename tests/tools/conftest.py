"""Tests of tools start programs of their own."""

from collections.abc import AsyncIterator

import pytest

from tests.programs import ends_awaited


@pytest.fixture(autouse=True)
async def _programs_end() -> AsyncIterator[None]:
    async with ends_awaited():
        yield
