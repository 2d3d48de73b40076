"""The settings of what lies outside: Slack and the providers of models."""

import re

from pydantic import AliasChoices, Field, SecretStr, field_validator
from pydantic_settings import BaseSettings


def plain(name: str) -> AliasChoices:
    """A setting known under the name that people expect, without our prefix."""
    return AliasChoices(name)


def web_address(value: str) -> str:
    """An address of the web, as it was given. Raises ValueError for anything else."""
    if not re.match(r"https?://[^/?#\s]", value):
        raise ValueError("must be an address that begins with https:// or http://")
    return value


class PlatformSettings(BaseSettings):
    """How Slack and the models are reached."""

    # Slack
    slack_bot_token: SecretStr | None = Field(
        None,
        validation_alias=plain("SLACK_BOT_TOKEN"),
        description="Bot token (xoxb-…). Without both tokens the daemon starts its own local workspace.",
    )
    slack_app_token: SecretStr | None = Field(
        None,
        validation_alias=plain("SLACK_APP_TOKEN"),
        description="App-level token (xapp-…) with the scope connections:write.",
    )
    slack_api_url: str = Field(
        "https://slack.com/api/", validation_alias=plain("SLACK_API_URL"), description="Base URL of Slack's Web API."
    )
    slack_sockets: int = Field(
        2, ge=1, le=10, description="Socket Mode connections held at once; two make Slack's refreshes seamless."
    )

    # Models
    persona_model: str = Field(
        "",
        description="Prefixed id of the model that speaks, e.g. anthropic/claude-sonnet-5-5. "
        "Empty: chosen by which key is set, else the placeholder.",
    )
    thinking_model: str = Field(
        "",
        description="Prefixed id of the model that thinks. Empty: the persona's, or a cheaper one if both are empty.",
    )
    anthropic_api_key: SecretStr | None = Field(
        None, validation_alias=plain("ANTHROPIC_API_KEY"), description="Key for models with the prefix anthropic/."
    )
    anthropic_base_url: str = Field(
        "https://api.anthropic.com",
        validation_alias=plain("ANTHROPIC_BASE_URL"),
        description="Base URL of the Messages API.",
    )
    openai_api_key: SecretStr | None = Field(
        None, validation_alias=plain("OPENAI_API_KEY"), description="Key for models with the prefix openai/."
    )
    openai_base_url: str = Field(
        "https://api.openai.com/v1",
        validation_alias=plain("OPENAI_BASE_URL"),
        description="Base URL for openai/ models.",
    )
    openrouter_api_key: SecretStr | None = Field(
        None,
        validation_alias=plain("OPENROUTER_API_KEY"),
        description="Key for OpenRouter, which takes every id without a known prefix.",
    )
    openrouter_url: str = Field("https://openrouter.ai/api/v1", description="Base URL of OpenRouter.")
    groq_api_key: SecretStr | None = Field(
        None, validation_alias=plain("GROQ_API_KEY"), description="Key for models with the prefix groq/."
    )
    groq_url: str = Field("https://api.groq.com/openai/v1", description="Base URL of Groq.")
    ollama_url: str = Field(
        "http://localhost:11434/v1", description="Base URL of a local Ollama, for the prefix ollama/."
    )
    model_timeout: float = Field(120.0, gt=0, description="Seconds one model call may take in all.")
    model_silence: float = Field(45.0, gt=0, description="Seconds a model may stay silent before the call is given up.")

    @field_validator(
        "slack_api_url", "anthropic_base_url", "openai_base_url", "openrouter_url", "groq_url", "ollama_url"
    )
    @classmethod
    def _web_address(cls, value: str) -> str:
        return web_address(value)

    @field_validator("slack_api_url")
    @classmethod
    def _trailing_slash(cls, value: str) -> str:
        return value if value.endswith("/") else value + "/"
