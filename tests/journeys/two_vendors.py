"""Two vendors of models on loopback, for daemons that can ask either."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from pydantic import SecretStr

from tests.llm.providers import KEY, AnthropicServer, OpenAIServer

FIRST, SECOND = "anthropic/claude-sonnet-5-5", "openai/gpt-6.1-terra"


@dataclass
class TwoVendors:
    """Both vendors, with the models `FIRST` and `SECOND`."""

    claude: AnthropicServer = field(default_factory=AnthropicServer)
    gpt: OpenAIServer = field(default_factory=OpenAIServer)

    @property
    def settings(self) -> dict[str, object]:
        """The settings with which a daemon speaks with the first one."""
        return {
            "anthropic_base_url": self.claude.url,
            "anthropic_api_key": SecretStr(KEY),
            "openai_base_url": self.gpt.url,
            "openai_api_key": SecretStr(KEY),
            "persona_model": FIRST,
            "thinking_model": FIRST,
        }


@asynccontextmanager
async def two_vendors() -> AsyncIterator[TwoVendors]:
    """Both vendors while the body runs."""
    vendors = TwoVendors()
    async with vendors.claude.running(), vendors.gpt.running():
        yield vendors
