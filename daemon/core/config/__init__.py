"""Settings: this package alone reads the environment, and reports every fault at once."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, DotEnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from daemon.core.config.fields import LogLevel, SettingsFields
from daemon.core.config.sources import (
    EmptySource,
    FileSource,
    Unreadable,
    did_you_mean,
    environment_name,
    read_dotenv,
    sentence,
)
from daemon.core.contexts import KEY
from daemon.core.errors import ConfigError
from daemon.core.http import is_clear_text_abroad
from daemon.core.initiative import QUIET_HOURS
from daemon.core.ports.services import SystemClock
from daemon.core.settings_place import settings_place
from daemon.core.timetable import require_seldom, zone_of


class MindFields(SettingsFields):
    """The settings of thinking unasked and of quiet hours."""

    # Thinking unasked
    cycle_enabled: bool = Field(
        False,
        description='Whether souls with mind = "cycle" think unasked about what is due (docs/MIND.md); '
        "soul.toml can override it. Of such thoughts only what was promised is posted, and what is said to people or "
        "in channels where the soul is invited to write unasked.",
    )
    cycle_tokens_hour: int = Field(
        20_000,
        ge=0,
        description="Tokens, in and out, that each soul may take for such thoughts within an hour; "
        "for what it promised only the day's count.",
    )
    cycle_tokens_day: int = Field(
        100_000, ge=0, description="Tokens, in and out, that each soul may take for such thoughts in a day."
    )
    cycle_usd_day: float = Field(
        1.0, ge=0, description="US dollars that each soul may spend on such thoughts in a day."
    )
    quiet_hours: str = Field(
        "20:00-08:00",
        description="When a soul says nothing unasked, on each person's own clock; empty: at no time.",
    )

    @field_validator("quiet_hours")
    @classmethod
    def _hours(cls, value: str) -> str:
        if not re.fullmatch(QUIET_HOURS, value):
            raise ValueError("must be two times of day, such as 20:00-08:00, or empty for none")
        return value


class OutwardFields(MindFields):
    """The settings of speech and traces."""

    # Speech
    tts_url: str = Field(
        "", description="Base URL of an OpenAI-compatible speech endpoint. Empty: espeak-ng, where it is installed."
    )
    tts_model: str = Field("gpt-4o-mini-tts", description="Model of the speech endpoint.")
    tts_voice: str = Field("alloy", description="Voice of the speech endpoint.")
    tts_api_key: SecretStr | None = Field(None, description="Key for the speech endpoint.")

    # Traces
    otlp_url: str = Field(
        "",
        description="Address to which traces go as OpenTelemetry (OTLP over HTTP), e.g. "
        "http://localhost:4318/v1/traces: each cycle and its model calls, without a word of anybody. Empty: nowhere.",
    )
    otlp_headers: SecretStr | None = Field(
        None, description="Headers that go with them, as name=value with commas, where the other end wants a key."
    )


__all__ = [
    "LogLevel",
    "Settings",
    "environment",
    "forget_secrets",
    "load_settings",
    "one_thread_for_numbers",
    "unknown_settings",
]

_MAY_BE_EMPTY = ("quiet_hours",)  # although something else is the default
_OPTIONAL_ADDRESSES = ("tts_url", "stt_url", "embedder_url", "otlp_url")
_HOST_NAME = re.compile(
    r"(?=.{1,253}\Z)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*"
)
_FOLDER_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]*"
_HOUSE_FOLDERS = ("backups", "index", "run", "senses", "souls")  # of SOUL_HOME


class Settings(OutwardFields):
    """All settings, read and checked."""

    model_config = SettingsConfigDict(
        env_prefix="SOUL_",
        env_file_encoding="utf-8",
        env_ignore_empty=True,
        allow_inf_nan=False,
        extra="ignore",
        frozen=True,
    )

    @field_validator("*", mode="before")
    @classmethod
    def _readable(cls, value: object) -> object:
        if isinstance(value, Unreadable):
            raise ValueError(value.reason)  # noqa: TRY004  # pydantic turns ValueError alone into a fault
        return value

    @field_validator(
        *("members", "allow_bots", "shared_contexts", "approvers", "link_hosts", "library", "library_public", "souls"),
        *("admins", "step_models", "standby_dm", "standby_channel", "standby_workspace", "http_names"),
        mode="before",
    )
    @classmethod
    def _comma_separated(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("standby_dm", "standby_channel", "standby_workspace")
    @classmethod
    def _lower_case(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(part.lower() for part in value)

    @field_validator("consolidate")
    @classmethod
    def _crontab_or_off(cls, value: str) -> str:
        plain = value.strip().lower()
        if plain != "off":
            require_seldom(plain, SystemClock().now_ms())
        return plain

    @field_validator("consolidate_zone", "cap_zone")
    @classmethod
    def _zone(cls, value: str) -> str:
        if value and zone_of(value) is None:
            raise ValueError("is no time zone that is known here: write e.g. Europe/Berlin")
        return value

    @field_validator("shared_contexts")
    @classmethod
    def _keys(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for key in value:
            if not KEY.fullmatch(key):
                raise ValueError(f"{key} is no key: it has up to 64 of a-z, 0-9, dot, hyphen and underscore")
        return value

    @field_validator("http_names")
    @classmethod
    def _host_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if not _HOST_NAME.fullmatch(name):
                raise ValueError(
                    f"{name[:80]} is no name of a host: write soul.example.com, without https:// or a port"
                )
        return tuple(name.lower() for name in value)

    @field_validator("ops_channel")
    @classmethod
    def _channel_id(cls, value: str) -> str:
        if value and not re.fullmatch(r"[CG][A-Z0-9]{1,23}", value.strip()):
            raise ValueError(
                "is no id of a channel: Slack shows it at the end of the channel's details, as C0123456789"
            )
        return value.strip()

    @field_validator("log_level", mode="before")
    @classmethod
    def _any_case(cls, value: object) -> object:
        return value.strip().lower() if isinstance(value, str) else value

    @field_validator(
        *("slack_api_url", "anthropic_base_url", "openai_base_url", "openrouter_url", "groq_url", "ollama_url"),
        "local_url",
        *_OPTIONAL_ADDRESSES,
    )
    @classmethod
    def _web_address(cls, value: str, info: ValidationInfo) -> str:
        if not re.match(r"https?://[^/?#\s]", value) and (value or info.field_name not in _OPTIONAL_ADDRESSES):
            raise ValueError("must be an address that begins with https:// or http://")
        if is_clear_text_abroad(value):
            raise ValueError("must begin with https://; http:// is for this machine alone")
        return value

    @field_validator("slack_api_url")
    @classmethod
    def _trailing_slash(cls, value: str) -> str:
        return value if value.endswith("/") else value + "/"

    @field_validator("library", "library_public")
    @classmethod
    def _tildes(cls, value: tuple[Path, ...]) -> tuple[Path, ...]:
        return tuple(path for folder in value if (path := cls._tilde(folder)) is not None)

    @field_validator("home", "souls_dir", "mcp_servers")
    @classmethod
    def _tilde(cls, value: Path | None) -> Path | None:
        try:
            return settings_place().absolute(value.expanduser()) if value is not None else None
        except RuntimeError:
            raise ValueError("names the home folder of an unknown user") from None

    @field_validator("name")
    @classmethod
    def _folder_name(cls, value: str) -> str:
        if not re.fullmatch(_FOLDER_NAME, value):
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
        "stt_api_key",
        "embedder_api_key",
    )
    @classmethod
    def _bare_or_unset(cls, value: SecretStr | None) -> SecretStr | None:
        bare = value.get_secret_value().strip() if value is not None else ""
        return SecretStr(bare) if bare else None

    @field_validator("mirror")
    @classmethod
    def _folder_at_home(cls, value: str) -> str:
        if value and (not re.fullmatch(_FOLDER_NAME, value) or value in _HOUSE_FOLDERS):
            raise ValueError(
                "must be the name of a folder of its own in SOUL_HOME: only letters, digits, - and _, and none of "
                f"{', '.join(_HOUSE_FOLDERS)}"
            )
        return value

    @field_validator("souls")
    @classmethod
    def _folder_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(cls._folder_name(name) for name in value)

    @property
    def effective_log_level(self) -> LogLevel:
        return "debug" if self.debug else self.log_level

    @property
    def who_are_admins(self) -> tuple[str, ...]:
        return self.admins or self.approvers

    @property
    def has_sources(self) -> bool:
        return bool(self.library or self.library_public or self.mcp_servers)

    @property
    def database_path(self) -> Path:
        return self.home / "memory.db"

    @property
    def index_folder(self) -> Path:
        return self.home / "index"

    @property
    def secrets(self) -> tuple[str, ...]:
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
        """Return the sources, first wins: arguments, credentials, `*_FILE`, environment, `*_FILE` in `.env`, `.env`."""
        given = {name.upper(): value for name, value in os.environ.items()}
        written = {name.upper(): value for name, value in read_dotenv().items()}
        place = settings_place()
        return (
            init_settings,
            FileSource(settings_cls, given, credentials=given.get("CREDENTIALS_DIRECTORY", ""), read=place.credentials),
            env_settings,
            EmptySource(settings_cls, given, _MAY_BE_EMPTY),
            FileSource(settings_cls, written),
            DotEnvSettingsSource(settings_cls, env_file=place.dotenv),
            EmptySource(settings_cls, written, _MAY_BE_EMPTY),
        )


def environment() -> Mapping[str, str]:
    """Return the current environment, for variables that are no settings."""
    return dict(os.environ)


def one_thread_for_numbers() -> None:
    """Let numpy work in the thread that calls it. Has no effect once numpy is imported.

    Its own threads wait for each other on a busy machine: a scan of 0.5 ms takes 10 ms.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def forget_secrets() -> None:
    """Remove secrets from the environment after reading the settings: programs started later don't inherit them."""
    secret = {
        environment_name(name, field)
        for name, field in Settings.model_fields.items()
        if field.annotation == SecretStr | None
    }
    for name in [name for name in os.environ if name.upper() in secret]:
        del os.environ[name]


def unknown_settings(environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return a sentence for each SOUL_ variable that is no setting, by default in the environment and `.env`."""
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
