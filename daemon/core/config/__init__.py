"""Settings: the only code that reads the environment; reports every fault in it at once."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AliasChoices, Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from daemon.core.config.sources import (
    DOTENV,
    FileSource,
    Unreadable,
    did_you_mean,
    environment_name,
    read_dotenv,
    sentence,
)
from daemon.core.errors import ConfigError

LogLevel = Literal["minimal", "standard", "verbose", "debug"]


def _alias(name: str) -> AliasChoices:
    """A variable's usual name, without our prefix."""
    return AliasChoices(name)


class Settings(BaseSettings):
    """Every setting; `.env.example` is generated from these fields."""

    model_config = SettingsConfigDict(
        env_prefix="SOUL_",
        env_file=DOTENV,
        env_file_encoding="utf-8",
        env_ignore_empty=True,
        allow_inf_nan=False,
        extra="ignore",
        frozen=True,
    )

    # Slack
    slack_bot_token: SecretStr | None = Field(
        None,
        validation_alias=_alias("SLACK_BOT_TOKEN"),
        description="Bot token (xoxb-…). Without both tokens the daemon starts a local workspace.",
    )
    slack_app_token: SecretStr | None = Field(
        None,
        validation_alias=_alias("SLACK_APP_TOKEN"),
        description="App-level token (xapp-…) with the scope connections:write.",
    )
    slack_api_url: str = Field(
        "https://slack.com/api/", validation_alias=_alias("SLACK_API_URL"), description="Base URL of Slack's Web API."
    )
    slack_sockets: int = Field(
        2, ge=1, le=10, description="Socket Mode connections at once; with two, Slack's refreshes leave no gap."
    )

    # Models
    persona_model: str = Field(
        "",
        description="Prefixed id of the model that speaks, e.g. anthropic/claude-sonnet-5-5. "
        "Empty: chosen by the key that is set, else the placeholder.",
    )
    thinking_model: str = Field(
        "",
        description="Prefixed id of the model that thinks. "
        "Empty: the model that speaks, or a cheaper one if both are empty.",
    )
    anthropic_api_key: SecretStr | None = Field(
        None, validation_alias=_alias("ANTHROPIC_API_KEY"), description="Key for models with the prefix anthropic/."
    )
    anthropic_base_url: str = Field(
        "https://api.anthropic.com",
        validation_alias=_alias("ANTHROPIC_BASE_URL"),
        description="Base URL of the Messages API.",
    )
    openai_api_key: SecretStr | None = Field(
        None, validation_alias=_alias("OPENAI_API_KEY"), description="Key for models with the prefix openai/."
    )
    openai_base_url: str = Field(
        "https://api.openai.com/v1",
        validation_alias=_alias("OPENAI_BASE_URL"),
        description="Base URL for openai/ models.",
    )
    openrouter_api_key: SecretStr | None = Field(
        None,
        validation_alias=_alias("OPENROUTER_API_KEY"),
        description="Key for OpenRouter, which takes every id without a known prefix.",
    )
    openrouter_url: str = Field("https://openrouter.ai/api/v1", description="Base URL of OpenRouter.")
    groq_api_key: SecretStr | None = Field(
        None, validation_alias=_alias("GROQ_API_KEY"), description="Key for models with the prefix groq/."
    )
    groq_url: str = Field("https://api.groq.com/openai/v1", description="Base URL of Groq.")
    ollama_url: str = Field(
        "http://localhost:11434/v1", description="Base URL of a local Ollama, for the prefix ollama/."
    )
    model_timeout: float = Field(120.0, gt=0, description="Seconds that one model call may take in all.")
    model_silence: float = Field(
        45.0, gt=0, description="Seconds without output after which a model call is cancelled."
    )

    # The soul and its home
    home: Path = Field(Path(), description="Data folder, which holds memory.db.")
    name: str = Field("minoan", description="The soul's name: a folder under the souls directory.")
    souls_dir: Path | None = Field(
        None, description="Folder of souls. Empty: `souls` in the data folder, else the souls shipped with the daemon."
    )

    # Who may talk
    members: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Slack user ids that may talk to the soul, comma-separated. Empty: every full member."
    )
    allow_guests: bool = Field(False, description="Let guests of the workspace talk to the soul.")
    allow_bots: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Bot ids or bot user ids that may talk to the soul, comma-separated."
    )
    allow_strangers: bool = Field(False, description="Let users of other workspaces (Slack Connect) talk to the soul.")
    allow_shared_channels: bool = Field(False, description="Answer in channels shared with other workspaces.")

    # Work
    max_cycles: int = Field(8, ge=1, le=256, description="Conversations worked on at the same time.")
    deadline: float = Field(180.0, gt=0, description="Seconds within which each message gets a reply or an apology.")
    lease: float = Field(
        30.0, gt=0, description="Seconds after which an unrenewed claim on a conversation or a post expires."
    )
    in_doubt: float = Field(
        10.0, gt=0, description="Seconds to wait before looking up a post that may or may not have been sent."
    )
    stale_after: float = Field(
        3600.0,
        gt=0,
        description="Seconds after which a message or post is reported instead of answered or sent.",
    )
    backfill_hours: float = Field(24.0, ge=0, description="Hours of Slack history that are read after a gap.")
    backfill_conversations: int = Field(50, ge=0, description="Channels and open threads that are read after a gap.")
    drain: float = Field(20.0, gt=0, description="Seconds that unfinished work may take after the first SIGTERM.")

    # The local workspace
    workspace_port: int = Field(
        8765, ge=0, le=65535, description="Port of the local workspace on this machine; 0 picks a free one."
    )

    # Logs
    debug: bool = Field(
        False, description="Same as SOUL_LOG_LEVEL=debug: the log then shows private thoughts and users' words."
    )
    log_level: LogLevel = Field("standard", description="What the log shows: minimal, standard, verbose or debug.")

    # Mental processes
    visit_silence: float = Field(
        14_400.0, gt=0, description="Seconds of silence that end a visit; the next message begins a new one."
    )
    dormant_after: float = Field(1_800.0, gt=0, description="Seconds of silence after which the soul becomes dormant.")
    trace_days: int = Field(
        90, ge=0, description="Days for which state histories and finished schedules are kept; 0 keeps them forever."
    )
    schedule_max: int = Field(100, ge=0, description="Scheduled intentions that a soul may have at once.")

    # The autonomous loop (ISM)
    ism_enabled: bool = Field(
        False,
        validation_alias=_alias("ISM_ENABLED"),
        description="Let souls solve hard problems by choosing actions themselves; soul.toml can override it.",
    )
    ism_max_loops: int = Field(
        5,
        ge=1,
        le=50,
        validation_alias=_alias("ISM_MAX_LOOPS"),
        description="Choices of actions per problem before the soul answers or asks.",
    )
    ism_max_tokens: int = Field(60_000, ge=1, description="Tokens, in and out, that one problem may use.")
    ism_max_usd: float = Field(0.5, gt=0, description="US dollars that one problem may cost, where prices are known.")
    ism_max_seconds: float = Field(
        120.0,
        gt=0,
        description="Seconds of uninterrupted work on one problem; keep it below SOUL_DEADLINE.",
    )
    approval_seconds: float = Field(900.0, gt=0, description="Seconds after which a request for permission expires.")
    approvers: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Slack user ids that may approve a tool's changes, comma-separated. "
        "Empty: the user whom the soul is answering.",
    )
    library: Annotated[tuple[Path, ...], NoDecode] = Field(
        (), description="Folders of documents and code that the soul may search, comma-separated."
    )
    mcp_servers: Path | None = Field(
        None, description='A JSON file with MCP servers, in the usual form {"mcpServers": {"name": {"command": …}}}.'
    )

    # Further souls
    souls: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Further souls of this daemon, comma-separated; each answers in the channels of its soul.toml.",
    )

    # The HTTP API
    http: bool = Field(True, description="Serve the HTTP API: chat, personality, speech, health and metrics.")
    http_host: str = Field("127.0.0.1", description="Address that the HTTP API listens on.")
    http_port: int = Field(8766, ge=0, le=65535, description="Port of the HTTP API; 0 picks a free one.")
    http_token: SecretStr | None = Field(
        None, description="Bearer token of the HTTP API. Empty: generated at the first start and stored in http.token."
    )
    tts_url: str = Field(
        "", description="Base URL of an OpenAI-compatible speech endpoint. Empty: espeak-ng, where it is installed."
    )
    tts_model: str = Field("gpt-4o-mini-tts", description="Model of the speech endpoint.")
    tts_voice: str = Field("alloy", description="Voice of the speech endpoint.")
    tts_api_key: SecretStr | None = Field(None, description="Key for the speech endpoint.")

    # Reserved
    shared_contexts: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        validation_alias=_alias("SHARED_CONTEXTS"),
        description="Contexts shared between souls. Reserved: nothing reads it yet.",
    )

    @field_validator("*", mode="before")
    @classmethod
    def _readable(cls, value: object) -> object:
        if isinstance(value, Unreadable):
            raise ValueError(value.reason)  # noqa: TRY004  # pydantic turns ValueError alone into a fault
        return value

    @field_validator("members", "allow_bots", "shared_contexts", "approvers", "library", "souls", mode="before")
    @classmethod
    def _comma_separated(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("log_level", mode="before")
    @classmethod
    def _any_case(cls, value: object) -> object:
        return value.strip().lower() if isinstance(value, str) else value

    @field_validator(
        *("slack_api_url", "anthropic_base_url", "openai_base_url", "openrouter_url", "groq_url", "ollama_url"),
        "tts_url",
    )
    @classmethod
    def _web_address(cls, value: str, info: ValidationInfo) -> str:
        if not re.match(r"https?://[^/?#\s]", value) and (value or info.field_name != "tts_url"):
            raise ValueError("must be an address that begins with https:// or http://")
        return value

    @field_validator("slack_api_url")
    @classmethod
    def _trailing_slash(cls, value: str) -> str:
        return value if value.endswith("/") else value + "/"

    @field_validator("library")
    @classmethod
    def _tildes(cls, value: tuple[Path, ...]) -> tuple[Path, ...]:
        return tuple(path for folder in value if (path := cls._tilde(folder)) is not None)

    @field_validator("home", "souls_dir", "mcp_servers")
    @classmethod
    def _tilde(cls, value: Path | None) -> Path | None:
        try:
            return value.expanduser() if value is not None else None
        except RuntimeError:
            raise ValueError("names the home folder of an unknown user") from None

    @field_validator("name")
    @classmethod
    def _folder_name(cls, value: str) -> str:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", value):
            raise ValueError("must be the name of a folder: only letters, digits, - and _")
        return value

    @field_validator(
        "slack_bot_token",
        "slack_app_token",
        "anthropic_api_key",
        "openai_api_key",
        "openrouter_api_key",
        "groq_api_key",
        "http_token",
        "tts_api_key",
    )
    @classmethod
    def _bare_or_unset(cls, value: SecretStr | None) -> SecretStr | None:
        bare = value.get_secret_value().strip() if value is not None else ""
        return SecretStr(bare) if bare else None

    @field_validator("souls")
    @classmethod
    def _folder_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(cls._folder_name(name) for name in value)

    @property
    def effective_log_level(self) -> LogLevel:
        """The log level after SOUL_DEBUG."""
        return "debug" if self.debug else self.log_level

    @property
    def database_path(self) -> Path:
        """Path of memory.db, whether it exists or not."""
        return self.home / "memory.db"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every secret that is set, for redaction."""
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
        """Sources, first wins: arguments, systemd credentials, `*_FILE`, environment, `*_FILE` in `.env`, `.env`."""
        given = {name.upper(): value for name, value in os.environ.items()}
        written = {name.upper(): value for name, value in read_dotenv().items()}
        return (
            init_settings,
            FileSource(settings_cls, given, credentials=given.get("CREDENTIALS_DIRECTORY", "")),
            env_settings,
            FileSource(settings_cls, written),
            dotenv_settings,
        )


def environment() -> Mapping[str, str]:
    """The current environment, for variables that are no settings."""
    return dict(os.environ)


def unknown_settings(environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """A sentence for each SOUL_ variable that is no setting; by default in the environment and `.env`."""
    names = (environ if environ is not None else {**read_dotenv(), **os.environ}).keys()
    known = {environment_name(name, field) for name, field in Settings.model_fields.items()}
    unknown = sorted(
        name for name in names if name.upper().startswith("SOUL_") and name.upper().removesuffix("_FILE") not in known
    )
    return tuple(f"{name} is not a setting{did_you_mean(name.upper(), known)}" for name in unknown)


def load_settings(**overrides: object) -> Settings:
    """Read all settings; overrides are field names. Raises a ConfigError that names every fault and its variable."""
    if unknown := overrides.keys() - Settings.model_fields.keys():
        raise TypeError(f"no such settings: {', '.join(sorted(unknown))}")
    read_dotenv()  # its faults in our words, before pydantic raises its own
    try:
        return Settings(**overrides)  # type: ignore[arg-type]  # fields are validated by pydantic, not by the type checker
    except ValidationError as error:
        faults = sorted({sentence(fault, Settings.model_fields) for fault in error.errors(include_url=False)})
        hint = "see .env.example for every setting and its meaning"
        raise ConfigError(f"settings are wrong: {'; '.join(faults)}", hint=hint) from None
