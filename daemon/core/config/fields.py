"""All settings: their types, defaults and bounds. Their descriptions are in `descriptions.toml`."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, SecretStr, field_validator
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from daemon.core.config.sources import EmptySource, FileSource, Unreadable, read_dotenv
from daemon.core.contexts import KEY
from daemon.core.http import is_clear_text_abroad
from daemon.core.initiative import QUIET_HOURS
from daemon.core.ports.services import SystemClock
from daemon.core.settings_place import settings_place
from daemon.core.timetable import require_seldom, zone_of

T = TypeVar("T")

LogLevel = Literal["minimal", "standard", "verbose", "debug"]

_alias = AliasChoices
_MAY_BE_EMPTY = ("quiet_hours",)  # although something else is the default
_HOST_NAME = re.compile(
    r"(?=.{1,253}\Z)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*"
)
_FOLDER = r"[A-Za-z0-9][A-Za-z0-9_-]*"
_HOUSE_FOLDERS = ("backups", "index", "run", "senses", "souls")  # of SOUL_HOME


def _split(value: object) -> object:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def _each(check: Callable[[T], T]) -> AfterValidator:
    return AfterValidator(lambda values: tuple(map(check, values)))


def _any_case(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value


def _trailing_slash(value: str) -> str:
    return value if value.endswith("/") else value + "/"


def _bare_or_unset(value: SecretStr | None) -> SecretStr | None:
    bare = value.get_secret_value().strip() if value is not None else ""
    return SecretStr(bare) if bare else None


def _web_address(value: str) -> str:
    if not re.match(r"https?://[^/?#\s]", value):
        raise ValueError("must be an address that begins with https:// or http://")
    if is_clear_text_abroad(value):
        raise ValueError("must begin with https://; http:// is for this machine alone")
    return value


def _crontab_or_off(value: str) -> str:
    plain = value.strip().lower()
    if plain != "off":
        require_seldom(plain, SystemClock().now_ms())
    return plain


def _known_zone(value: str) -> str:
    if value and zone_of(value) is None:
        raise ValueError("is no time zone that is known here: write e.g. Europe/Berlin")
    return value


def _hours(value: str) -> str:
    if not re.fullmatch(QUIET_HOURS, value):
        raise ValueError("must be two times of day, such as 20:00-08:00, or empty for none")
    return value


def _context_key(value: str) -> str:
    if not KEY.fullmatch(value):
        raise ValueError(f"{value} is no key: it has up to 64 of a-z, 0-9, dot, hyphen and underscore")
    return value


def _host_name(value: str) -> str:
    if not _HOST_NAME.fullmatch(value):
        raise ValueError(f"{value[:80]} is no name of a host: write soul.example.com, without https:// or a port")
    return value.lower()


def _channel_id(value: str) -> str:
    if value and not re.fullmatch(r"[CG][A-Z0-9]{1,23}", value.strip()):
        raise ValueError("is no id of a channel: Slack shows it at the end of the channel's details, as C0123456789")
    return value.strip()


def _absolute(value: Path) -> Path:
    try:
        return settings_place().absolute(value.expanduser())
    except RuntimeError:
        raise ValueError("names the home folder of an unknown user") from None


def _folder_name(value: str) -> str:
    if not re.fullmatch(_FOLDER, value):
        raise ValueError("must be the name of a folder: only letters, digits, - and _")
    return value


def _folder_at_home(value: str) -> str:
    if value and (not re.fullmatch(_FOLDER, value) or value in _HOUSE_FOLDERS):
        raise ValueError(
            "must be the name of a folder of its own in SOUL_HOME: only letters, digits, - and _, and none of "
            f"{', '.join(_HOUSE_FOLDERS)}"
        )
    return value


Secret = Annotated[SecretStr | None, AfterValidator(_bare_or_unset)]
Address = Annotated[str, AfterValidator(_web_address)]
ApiAddress = Annotated[Address, AfterValidator(_trailing_slash)]
OptionalAddress = Annotated[str, AfterValidator(lambda value: value and _web_address(value))]
Zone = Annotated[str, AfterValidator(_known_zone)]
Folder = Annotated[Path, AfterValidator(_absolute)]
FolderName = Annotated[str, AfterValidator(_folder_name)]

# Lists, comma-separated.
Listed = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
Vendors = Annotated[Listed, _each(str.lower)]
ContextKeys = Annotated[Listed, _each(_context_key)]
HostNames = Annotated[Listed, _each(_host_name)]
FolderNames = Annotated[Listed, _each(_folder_name)]
Folders = Annotated[tuple[Path, ...], NoDecode, BeforeValidator(_split), _each(_absolute)]


class Settings(BaseSettings):
    """All settings, read and checked."""

    model_config = SettingsConfigDict(
        env_prefix="SOUL_",
        env_file_encoding="utf-8",
        env_ignore_empty=True,
        allow_inf_nan=False,
        extra="ignore",
        frozen=True,
    )

    # Slack
    slack_bot_token: Secret = Field(None, validation_alias=_alias("SLACK_BOT_TOKEN"))
    slack_app_token: Secret = Field(None, validation_alias=_alias("SLACK_APP_TOKEN"))
    slack_api_url: ApiAddress = Field("https://slack.com/api/", validation_alias=_alias("SLACK_API_URL"))
    slack_sockets: int = Field(2, ge=1, le=10)
    slack_streaming: Literal["everywhere", "dms"] = "everywhere"
    slack_acknowledge: bool = False
    rehearsal_clock: bool = False

    # Models
    persona_model: str = ""
    thinking_model: str = ""
    persona_standby: str = ""
    thinking_standby: str = ""
    step_models: Listed = ()
    standby_dm: Vendors = ()
    standby_channel: Vendors = ()
    standby_workspace: Vendors = ()
    anthropic_api_key: Secret = Field(None, validation_alias=_alias("ANTHROPIC_API_KEY"))
    anthropic_base_url: Address = Field("https://api.anthropic.com", validation_alias=_alias("ANTHROPIC_BASE_URL"))
    openai_api_key: Secret = Field(None, validation_alias=_alias("OPENAI_API_KEY"))
    openai_base_url: Address = Field("https://api.openai.com/v1", validation_alias=_alias("OPENAI_BASE_URL"))
    openrouter_api_key: Secret = Field(None, validation_alias=_alias("OPENROUTER_API_KEY"))
    openrouter_url: Address = "https://openrouter.ai/api/v1"
    groq_api_key: Secret = Field(None, validation_alias=_alias("GROQ_API_KEY"))
    groq_url: Address = "https://api.groq.com/openai/v1"
    ollama_url: Address = "http://localhost:11434/v1"
    local_url: Address = "http://127.0.0.1:8080/v1"
    local_models: bool = True
    model_timeout: float = Field(120.0, gt=0)
    model_silence: float = Field(45.0, gt=0)

    # The soul and its home
    home: Folder = Path()
    name: FolderName = "minoan"
    souls_dir: Folder | None = None

    # Who may talk
    members: Listed = ()
    allow_guests: bool = False
    allow_bots: Listed = ()
    allow_strangers: bool = False
    allow_organisation: bool = True
    allow_shared_channels: bool = False

    # What may be linked to
    link_hosts: Listed = ()

    # Work
    max_cycles: int = Field(32, ge=1, le=256)
    most_waiting: int = Field(200, ge=1)
    deadline: float = Field(180.0, gt=0)
    lease: float = Field(30.0, gt=0)
    in_doubt: float = Field(10.0, gt=0)
    stale_after: float = Field(3600.0, gt=0)
    backfill_hours: float = Field(24.0, ge=0)
    backfill_threads: int = Field(200, ge=0)
    drain: float = Field(20.0, gt=0)

    # Alarms
    ops_channel: Annotated[str, AfterValidator(_channel_id)] = ""
    admins: Listed = ()

    # Money
    max_usd_a_day: float | None = Field(None, ge=0)
    max_usd_a_day_person: float | None = Field(None, ge=0)
    max_usd_a_day_room: float | None = Field(None, ge=0)
    cap_zone: Zone = ""

    # The local workspace
    workspace_port: int = Field(8765, ge=0, le=65535)

    # Logs
    debug: bool = False
    log_level: Annotated[LogLevel, BeforeValidator(_any_case)] = "standard"

    # Mental processes
    visit_silence: float = Field(14_400.0, gt=0)
    learn_after: float = Field(90.0, ge=0)
    dormant_after: float = Field(1_800.0, gt=0)
    trace_days: int = Field(90, ge=0)
    queue_text_days: int = Field(30, ge=0)
    job_days: int = Field(7, ge=0)
    call_days: int = Field(90, ge=0)
    backup_share: float = Field(0.1, gt=0, le=0.9)
    schedule_max: int = Field(100, ge=0)

    # The autonomous loop (ISM)
    ism_enabled: bool | None = Field(None, validation_alias=_alias("ISM_ENABLED"))
    ism_max_loops: int = Field(5, ge=1, le=50, validation_alias=_alias("ISM_MAX_LOOPS"))
    ism_max_tokens: int = Field(60_000, ge=1)
    ism_max_usd: float = Field(0.5, gt=0)
    ism_max_seconds: float = Field(120.0, gt=0)
    approval_seconds: float = Field(900.0, gt=0)
    approvers: Listed = ()
    library: Folders = ()
    library_public: Folders = ()
    mcp_servers: Folder | None = None

    # Further souls
    souls: FolderNames = ()

    # The HTTP API
    http: bool = True
    http_host: str = "127.0.0.1"
    http_port: int = Field(8766, ge=0, le=65535)
    http_names: HostNames = ()
    http_token: Secret = None
    session_hourly: int = Field(20, ge=0)

    # Files in messages
    senses_mb: int = Field(500, ge=0)
    stt_url: OptionalAddress = ""
    stt_model: str = "gpt-4o-mini-transcribe"
    stt_api_key: Secret = None

    # Privacy
    tell_of_memory: bool = True
    turn_days: int = Field(0, ge=0)
    fact_days: int = Field(0, ge=0)
    episode_days: int = Field(0, ge=0)
    sense_days: int = Field(0, ge=0)
    journal_days: int = Field(0, ge=0)
    mirror: Annotated[str, AfterValidator(_folder_at_home)] = ""

    # Consolidation
    consolidate: Annotated[str, AfterValidator(_crontab_or_off)] = "0 3 * * *"
    consolidate_zone: Zone = ""
    consolidate_tokens: int = Field(50_000, ge=0)

    # Recall
    embedder: Literal["local", "endpoint", "none"] = "local"
    embedder_url: OptionalAddress = ""
    embedder_model: str = ""
    embedder_api_key: Secret = None
    chroma_from: int = Field(5_000, ge=1)

    # Shared state
    shared_contexts: ContextKeys = Field((), validation_alias=_alias("SHARED_CONTEXTS"))
    pair_hourly: int = Field(20, ge=0)

    # Thinking unasked
    cycle_enabled: bool = False
    cycle_tokens_hour: int = Field(20_000, ge=0)
    cycle_tokens_day: int = Field(100_000, ge=0)
    cycle_usd_day: float = Field(1.0, ge=0)
    quiet_hours: Annotated[str, AfterValidator(_hours)] = "20:00-08:00"

    # Speech
    tts_url: OptionalAddress = ""
    tts_model: str = "gpt-4o-mini-tts"
    tts_voice: str = "alloy"
    tts_api_key: Secret = None

    # Traces
    otlp_url: OptionalAddress = ""
    otlp_headers: Secret = None

    @field_validator("*", mode="before")
    @classmethod
    def _readable(cls, value: object) -> object:
        if isinstance(value, Unreadable):
            raise ValueError(value.reason)  # noqa: TRY004  # pydantic turns ValueError alone into a fault
        return value

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
