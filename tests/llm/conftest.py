"""Servers, settings and prompts for the tests of language models."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.core.config import Settings, load_settings
from daemon.core.config.sources import environment_name
from daemon.llm.router import Router
from tests.fakes import FakeClock
from tests.llm.providers import KEY, AnthropicServer, OpenAIServer, VendorServer


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No key, proxy or .env of the developer's."""
    for name, field in Settings.model_fields.items():
        monkeypatch.delenv(environment_name(name, field), raising=False)
        monkeypatch.delenv(environment_name(name, field) + "_FILE", raising=False)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "CREDENTIALS_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
async def anthropic_server() -> AsyncIterator[AnthropicServer]:
    server = AnthropicServer()
    async with server.running():
        yield server


@pytest.fixture
async def openai_server() -> AsyncIterator[OpenAIServer]:
    server = OpenAIServer()
    async with server.running():
        yield server


@pytest.fixture(params=["anthropic", "openai"])
async def vendor(request: pytest.FixtureRequest) -> AsyncIterator[VendorServer]:
    server = AnthropicServer() if request.param == "anthropic" else OpenAIServer()
    async with server.running():
        yield server


@pytest.fixture
async def model(vendor: VendorServer, clock: FakeClock) -> AsyncIterator[Router]:
    """The router on a vendor's loopback server, without the layer that retries."""
    router = Router(settings_for(vendor), clock)
    yield router
    await router.aclose()


def settings_for(vendor: VendorServer, **more: object) -> Settings:
    given: dict[str, object] = {f"{vendor.name}_api_key": KEY, f"{vendor.name}_base_url": vendor.url}
    return load_settings(**(given | {"persona_model": f"{vendor.name}/local-model"} | more))
