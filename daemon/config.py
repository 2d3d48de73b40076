"""Settings: the one place that reads the environment, `.env`, `*_FILE` and systemd credentials, and reports every fault at once."""

import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from daemon.errors import ConfigError

LogLevel = Literal["minimal", "standard", "verbose", "debug"]


def _plain(name: str) -> AliasChoices:
    """A setting known under the name that people expect, without our prefix."""
    return AliasChoices(name)


class Settings(BaseSettings):
    """Every knob there is; `.env.example` is generated from these fields and a test keeps it so."""

    model_config = SettingsConfigDict(env_prefix="SOUL_", env_file=".env", extra="ignore", frozen=True)

    # Slack
    slack_bot_token: SecretStr | None = Field(
        None,
        validation_alias=_plain("SLACK_BOT_TOKEN"),
        description="Bot token (xoxb-…). Without both tokens the daemon starts its own local workspace.",
    )
    slack_app_token: SecretStr | None = Field(
        None,
        validation_alias=_plain("SLACK_APP_TOKEN"),
        description="App-level token (xapp-…) with the scope connections:write.",
    )
    slack_api_url: str = Field(
        "https://slack.com/api/", validation_alias=_plain("SLACK_API_URL"), description="Base URL of Slack's Web API."
    )
    slack_sockets: int = Field(
        2, ge=1, le=10, description="Socket Mode connections held at once; two make Slack's refreshes seamless."
    )

    # Models
    persona_model: str = Field(
        "",
        description="Prefixed id of the model that speaks, e.g. anthropic/claude-sonnet-5-5. Empty: chosen by which key is set, else the placeholder.",
    )
    thinking_model: str = Field("", description="Prefixed id of the model that thinks; empty means the persona's.")
    anthropic_api_key: SecretStr | None = Field(
        None, validation_alias=_plain("ANTHROPIC_API_KEY"), description="Key for models with the prefix anthropic/."
    )
    anthropic_base_url: str = Field(
        "https://api.anthropic.com",
        validation_alias=_plain("ANTHROPIC_BASE_URL"),
        description="Base URL of the Messages API.",
    )
    openai_api_key: SecretStr | None = Field(
        None, validation_alias=_plain("OPENAI_API_KEY"), description="Key for models with the prefix openai/."
    )
    openai_base_url: str = Field(
        "https://api.openai.com/v1",
        validation_alias=_plain("OPENAI_BASE_URL"),
        description="Base URL for openai/ models.",
    )
    openrouter_api_key: SecretStr | None = Field(
        None,
        validation_alias=_plain("OPENROUTER_API_KEY"),
        description="Key for OpenRouter, which takes every id without a known prefix.",
    )
    openrouter_url: str = Field("https://openrouter.ai/api/v1", description="Base URL of OpenRouter.")
    groq_api_key: SecretStr | None = Field(
        None, validation_alias=_plain("GROQ_API_KEY"), description="Key for models with the prefix groq/."
    )
    groq_url: str = Field("https://api.groq.com/openai/v1", description="Base URL of Groq.")
    ollama_url: str = Field(
        "http://localhost:11434/v1", description="Base URL of a local Ollama, for the prefix ollama/."
    )
    model_timeout: float = Field(120.0, gt=0, description="Seconds one model call may take in all.")
    model_silence: float = Field(45.0, gt=0, description="Seconds a model may stay silent before the call is given up.")

    # The soul and its home
    home: Path = Field(Path(), description="Data folder; holds memory.db.")
    name: str = Field("minoan", description="The soul: a folder under the souls directory.")
    souls_dir: Path | None = Field(
        None, description="Where souls live; default: `souls` beside the data, else the ones shipped."
    )

    # Who may talk
    members: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Slack user ids that may talk to the soul, comma-separated; empty means every full member."
    )
    allow_guests: bool = Field(False, description="Let guests of the workspace talk to the soul.")
    allow_bots: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Bot ids or bot user ids that may talk to the soul, comma-separated."
    )
    allow_strangers: bool = Field(False, description="Let people of other workspaces (Slack Connect) talk to the soul.")
    allow_shared_channels: bool = Field(False, description="Answer in channels shared with other workspaces.")

    # Work
    max_cycles: int = Field(8, ge=1, le=256, description="Conversations thought about at the same time.")
    deadline: float = Field(180.0, gt=0, description="Seconds within which every accepted message ends visibly.")
    lease: float = Field(
        30.0, gt=0, description="Seconds a claim on a conversation or a post holds without a sign of life."
    )
    in_doubt: float = Field(
        10.0, gt=0, description="Seconds to wait before a post that may have been sent is looked up."
    )
    stale_after: float = Field(
        3600.0, gt=0, description="Messages older than this many seconds are reported, not answered."
    )
    backfill_hours: float = Field(24.0, ge=0, description="How far back history is read after a gap.")
    backfill_conversations: int = Field(
        50, ge=0, description="How many channels and open threads are read after a gap."
    )
    drain: float = Field(20.0, gt=0, description="Seconds that work under way gets to finish at the first SIGTERM.")

    # The local workspace
    workspace_port: int = Field(
        8765, ge=0, le=65535, description="Port of the embedded local workspace on loopback; 0 picks a free one."
    )

    # Logs
    debug: bool = Field(
        False, description="Short for the log level debug: shows private thoughts; never for daily use."
    )
    log_level: LogLevel = Field("standard", description="minimal, standard, verbose or debug.")

    # Named by the seeds
    ism_enabled: bool = Field(
        False, validation_alias=_plain("ISM_ENABLED"), description="Reserved for the autonomous loop."
    )
    ism_max_loops: int = Field(
        5, ge=1, validation_alias=_plain("ISM_MAX_LOOPS"), description="Reserved for the autonomous loop."
    )
    shared_contexts: Annotated[tuple[str, ...], NoDecode] = Field(
        (), validation_alias=_plain("SHARED_CONTEXTS"), description="Reserved for contexts shared between souls."
    )

    @field_validator("members", "allow_bots", "shared_contexts", mode="before")
    @classmethod
    def _comma_separated(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("slack_api_url")
    @classmethod
    def _trailing_slash(cls, value: str) -> str:
        return value if value.endswith("/") else value + "/"

    @field_validator(
        "slack_bot_token",
        "slack_app_token",
        "anthropic_api_key",
        "openai_api_key",
        "openrouter_api_key",
        "groq_api_key",
    )
    @classmethod
    def _blank_is_unset(cls, value: SecretStr | None) -> SecretStr | None:
        return value if value is not None and value.get_secret_value().strip() else None

    @property
    def effective_log_level(self) -> LogLevel:
        """The log level, with SOUL_DEBUG taken into account."""
        return "debug" if self.debug else self.log_level

    @property
    def database_path(self) -> Path:
        """Where memory.db is or will be."""
        return self.home / "memory.db"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every secret value in force, for redaction."""
        values = (getattr(self, name) for name in type(self).model_fields)
        return tuple(value.get_secret_value() for value in values if isinstance(value, SecretStr))

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments, then systemd credentials, then `*_FILE`, then the environment, then `.env`."""
        return init_settings, _FileSource(settings_cls), env_settings, dotenv_settings


class _FileSource(PydanticBaseSettingsSource):
    """Values kept in files: `$CREDENTIALS_DIRECTORY/slack-bot-token` (systemd), then `SLACK_BOT_TOKEN_FILE=/path`."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        name = environment_name(field_name, field)
        for path in self._candidates(name):
            try:
                return path.read_text(encoding="utf-8").strip(), name, False
            except OSError as error:
                raise ConfigError(
                    f"{name} can't be read from {path}: {error.strerror}", hint="check the path and its permissions"
                ) from error
        return None, name, False

    def _candidates(self, name: str) -> list[Path]:
        found = []
        directory = os.environ.get("CREDENTIALS_DIRECTORY")
        if directory and (path := Path(directory) / name.lower().replace("_", "-")).exists():
            found.append(path)
        if explicit := os.environ.get(f"{name}_FILE"):
            found.append(Path(explicit))
        return found

    def __call__(self) -> dict[str, Any]:
        values = {}
        for field_name, field in self.settings_cls.model_fields.items():
            value, key, _ = self.get_field_value(field, field_name)
            if value is not None:
                values[key if field.validation_alias else field_name] = value
        return values


def environment_name(field_name: str, field: FieldInfo) -> str:
    """The variable that sets a field, e.g. SLACK_BOT_TOKEN or SOUL_NAME."""
    alias = field.validation_alias
    return str(alias.choices[0]) if isinstance(alias, AliasChoices) else f"SOUL_{field_name.upper()}"


def load_settings(**overrides: object) -> Settings:
    """Read all settings once. Raises ConfigError that names every fault and its variable."""
    try:
        return Settings(**overrides)  # type: ignore[arg-type]  # fields are validated by pydantic, not by the type checker
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}"
            for fault in error.errors(include_input=False)
        )
        raise ConfigError(
            f"settings are wrong: {faults}", hint="see .env.example for every setting and its meaning"
        ) from None
