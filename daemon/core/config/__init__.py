"""Settings: the one place that reads the environment; every fault in it is told at once, in plain words."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from daemon.core.config.platform import PlatformSettings, plain, web_address
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


class Settings(PlatformSettings):
    """Every knob there is; `.env.example` is generated from these fields and a test keeps it so."""

    model_config = SettingsConfigDict(
        env_prefix="SOUL_",
        env_file=DOTENV,
        env_file_encoding="utf-8",
        env_ignore_empty=True,
        allow_inf_nan=False,
        extra="ignore",
        frozen=True,
    )

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

    # Mental processes
    visit_silence: float = Field(
        14_400.0, gt=0, description="Seconds of silence that end a visit; who writes afterwards is welcomed back."
    )
    dormant_after: float = Field(
        1_800.0, gt=0, description="Seconds of silence after which the soul grows dormant; it speaks only if it may."
    )
    trace_days: int = Field(
        90, ge=0, description="Days for which the path of states and settled timers are kept; 0 keeps them for ever."
    )
    schedule_max: int = Field(100, ge=0, description="Things a soul may have scheduled at once.")

    # The autonomous loop (ISM)
    ism_enabled: bool = Field(
        False,
        validation_alias=plain("ISM_ENABLED"),
        description="Let souls solve hard problems by their own choice of actions; a soul's soul.toml can override it.",
    )
    ism_max_loops: int = Field(
        5,
        ge=1,
        le=50,
        validation_alias=plain("ISM_MAX_LOOPS"),
        description="Choices of actions before the soul answers or asks.",
    )
    ism_max_tokens: int = Field(60_000, ge=1, description="Tokens, in and out, that one problem may take.")
    ism_max_usd: float = Field(0.5, gt=0, description="US dollars that one problem may cost, where prices are known.")
    ism_max_seconds: float = Field(
        120.0,
        gt=0,
        description="Seconds that the soul may work on one problem at a stretch; keep it below SOUL_DEADLINE.",
    )
    approval_seconds: float = Field(
        900.0, gt=0, description="Seconds for which a question for permission can be answered."
    )
    approvers: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Slack user ids that may permit what a tool is to change, comma-separated; "
        "empty: whoever the soul works for at that moment.",
    )
    library: Annotated[tuple[Path, ...], NoDecode] = Field(
        (), description="Folders of documents and code that the soul may look things up in, comma-separated."
    )
    mcp_servers: Path | None = Field(
        None, description='A JSON file with MCP servers, in the usual form {"mcpServers": {"name": {"command": …}}}.'
    )

    # Further souls
    souls: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Further souls that this daemon hosts, each for the channels that its soul.toml names."
    )

    # The HTTP door
    http: bool = Field(True, description="Open the HTTP door: chat, personality, speech, health and metrics.")
    http_host: str = Field("127.0.0.1", description="Address that the HTTP door listens on.")
    http_port: int = Field(8766, ge=0, le=65535, description="Port of the HTTP door; 0 picks a free one.")
    http_token: SecretStr | None = Field(
        None, description="Bearer token for the HTTP door. Empty: made at the first start and kept in http.token."
    )
    tts_url: str = Field(
        "", description="Base URL of an OpenAI-compatible speech endpoint; empty: espeak-ng, where it is installed."
    )
    tts_model: str = Field("gpt-4o-mini-tts", description="Model of the speech endpoint.")
    tts_voice: str = Field("alloy", description="Voice of the speech endpoint.")
    tts_api_key: SecretStr | None = Field(None, description="Key for the speech endpoint.")

    # Named by the seeds
    shared_contexts: Annotated[tuple[str, ...], NoDecode] = Field(
        (), validation_alias=plain("SHARED_CONTEXTS"), description="Reserved for contexts shared between souls."
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

    @field_validator("tts_url")
    @classmethod
    def _web_address_or_none(cls, value: str) -> str:
        return web_address(value) if value else ""

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
            raise ValueError("begins with the home of somebody unknown") from None

    @field_validator("name")
    @classmethod
    def _folder_name(cls, value: str) -> str:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", value):
            raise ValueError("must be the name of a folder: letters, digits, - and _ alone")
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
        """The first that has it: arguments, systemd credentials, `*_FILE`, environment, `.env` and its own `*_FILE`."""
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
    """The environment as it is now, for the few who are told things there that are no settings."""
    return dict(os.environ)


def unknown_settings(environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """A sentence for each variable that begins with SOUL_ but means nothing, here and in `.env` by default."""
    names = (environ if environ is not None else {**read_dotenv(), **os.environ}).keys()
    known = {environment_name(name, field) for name, field in Settings.model_fields.items()}
    strange = sorted(
        name for name in names if name.upper().startswith("SOUL_") and name.upper().removesuffix("_FILE") not in known
    )
    return tuple(f"{name} is not a setting{did_you_mean(name.upper(), known)}" for name in strange)


def load_settings(**overrides: object) -> Settings:
    """Read all settings once; overrides are field names. Raises ConfigError that names every fault and its variable."""
    if unknown := overrides.keys() - Settings.model_fields.keys():
        raise TypeError(f"no such settings: {', '.join(sorted(unknown))}")
    read_dotenv()  # told in our own words here, before pydantic stumbles over it in its own
    try:
        return Settings(**overrides)  # type: ignore[arg-type]  # fields are validated by pydantic, not by the type checker
    except ValidationError as error:
        faults = sorted({sentence(fault, Settings.model_fields) for fault in error.errors(include_url=False)})
        hint = "see .env.example for every setting and its meaning"
        raise ConfigError(f"settings are wrong: {'; '.join(faults)}", hint=hint) from None
