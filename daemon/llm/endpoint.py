"""The address and key of each vendor, and the settings they come from."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from pydantic import SecretStr

from daemon.core.config import Settings
from daemon.core.errors import ConfigError
from daemon.core.network import is_loopback
from daemon.llm.extended import provider_named
from daemon.llm.model_id import ECHO, REHEARSAL, ModelId, Vendor


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One vendor's address and key; `key_variable` is empty for vendors that need no key."""

    vendor: Vendor
    base_url: str
    api_key: SecretStr
    key_variable: str
    url_variable: str

    @property
    def on_loopback(self) -> bool:
        """Whether it is on this machine, where no proxy of the environment can reach it."""
        return is_loopback(urlsplit(self.base_url).hostname or "")


def endpoint_for(settings: Settings, model: ModelId) -> Endpoint:
    """The endpoint of a model's vendor. Raises ConfigError with the name of the variable when the key is not set.

    A model of another package has no address; ConfigError then says what is wrong with the package.
    """
    if model.vendor is Vendor.EXTENSION:
        provider_named(model)
    if model.vendor is Vendor.PLACEHOLDER and model.full not in {ECHO, REHEARSAL}:
        raise ConfigError(f"there is no model {model.full}", hint=f"the placeholders are {ECHO} and {REHEARSAL}")
    url, key, key_variable, url_variable = _endpoints(settings)[model.vendor]
    if key is None:
        raise ConfigError(
            f"{model.full} needs a key, and {key_variable} is not set",
            hint=f"set {key_variable}, or choose another model in SOUL_PERSONA_MODEL and SOUL_THINKING_MODEL",
        )
    return Endpoint(model.vendor, url, key, key_variable, url_variable)


def _endpoints(settings: Settings) -> dict[Vendor, tuple[str, SecretStr | None, str, str]]:
    return {
        Vendor.ANTHROPIC: (
            settings.anthropic_base_url,
            settings.anthropic_api_key,
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_BASE_URL",
        ),
        Vendor.OPENAI: (settings.openai_base_url, settings.openai_api_key, "OPENAI_API_KEY", "OPENAI_BASE_URL"),
        Vendor.OPENROUTER: (
            settings.openrouter_url,
            settings.openrouter_api_key,
            "OPENROUTER_API_KEY",
            "SOUL_OPENROUTER_URL",
        ),
        Vendor.GROQ: (settings.groq_url, settings.groq_api_key, "GROQ_API_KEY", "SOUL_GROQ_URL"),
        # The client library needs some key; servers on this machine ignore it.
        Vendor.OLLAMA: (settings.ollama_url, SecretStr("ollama"), "", "SOUL_OLLAMA_URL"),
        Vendor.LOCAL: (settings.local_url, SecretStr("local"), "", "SOUL_LOCAL_URL"),
        Vendor.EXTENSION: ("", SecretStr(""), "", ""),
        Vendor.PLACEHOLDER: ("", SecretStr(""), "", ""),
    }
