"""The models that the daemon's own settings name, handed on to the daemons that scenarios are played with."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from daemon.core.config import Settings
from daemon.core.config.sources import environment_name
from daemon.core.errors import ConfigError
from daemon.core.value import Value
from daemon.llm.answers import Vendor, parse_model_id
from daemon.llm.endpoint import endpoint_for
from daemon.llm.router import choose_models
from daemon.soul import find_souls_directory, load_soul

ROLES: Final = ("persona", "thinking")

# What a scenario sets itself, or what would let the admin's own workspace, folders and people into it. No second model
# stands in for the one that is scored.
_NOT_HANDED_ON: Final = frozenset(
    {
        *("slack_bot_token", "slack_app_token", "slack_api_url", "slack_sockets", "workspace_port"),
        *("home", "souls_dir", "souls", "members", "allow_guests", "allow_bots", "allow_strangers"),
        *("allow_shared_channels", "link_hosts", "stale_after", "backfill_hours", "backfill_threads"),
        *("visit_silence", "dormant_after", "backup_share", "approvers", "library", "library_public", "mcp_servers"),
        *("http", "http_host", "http_port", "http_token", "tts_url", "tts_model", "tts_voice", "tts_api_key"),
        *("embedder", "embedder_url", "embedder_model", "embedder_api_key"),
        *("debug", "log_level", "shared_contexts"),
        *("persona_standby", "thinking_standby", "standby_dm", "standby_channel", "standby_workspace"),
    }
)


class Model(Value):
    """The models that are played with; `settings` hands them to a daemon, `secrets` are never written anywhere.

    `soul` is the folder of the configured soul. `paid` says that a call may cost money.
    """

    persona: str
    thinking: str
    settings: Mapping[str, str]
    secrets: tuple[str, ...]
    soul: Path
    paid: bool

    @property
    def names(self) -> str:
        """Both, for people."""
        if self.persona == self.thinking:
            return self.persona
        return f"{self.persona} (persona), {self.thinking} (thinking)"


def configured_model(settings: Settings, *, model: str = "", roles: Sequence[str] = ()) -> Model:
    """The models of the soul and of these settings; `model` instead of both, `roles` (`persona=ID`) instead of one.

    Raises ConfigError for a role that there is not, and as `choose_models` does; SoulError without the soul.
    """
    named = dict.fromkeys(ROLES, model) if model else {}
    for one in roles:
        role, _, chosen = one.partition("=")
        if role not in ROLES or not chosen.strip():
            raise ConfigError(
                f"--role {one} is not understood", hint=f"--role ROLE=MODEL; ROLE is {' or '.join(ROLES)}"
            )
        named[role] = chosen.strip()
    folder = find_souls_directory(settings.souls_dir, settings.home, settings.name)
    own = load_soul(folder, settings.name).models
    of_the_soul = {role: name for role in ROLES if (name := getattr(own, role))}
    changed = settings.model_copy(update={f"{role}_model": name for role, name in {**of_the_soul, **named}.items()})
    persona, thinking = choose_models(changed)
    handed_on = _handed_on(changed) | {"SOUL_PERSONA_MODEL": persona, "SOUL_THINKING_MODEL": thinking}
    paid = any(_costs(changed, name) for name in (persona, thinking))
    return Model(persona, thinking, handed_on, settings.secrets, folder / settings.name, paid)


def _handed_on(settings: Settings) -> dict[str, str]:
    """Every other setting that is not its default, by the name of its variable."""
    found = dict[str, str]()
    for name, field in Settings.model_fields.items():
        value = getattr(settings, name)
        if name not in _NOT_HANDED_ON and value != field.default:
            found[environment_name(name, field)] = _as_text(value)
    return found


def _as_text(value: object) -> str:
    match value:
        case SecretStr():
            return value.get_secret_value()
        case tuple() | list() | frozenset():
            return ",".join(map(str, value))
        case Path():
            return str(value.absolute())
        case bool():
            return str(value).lower()
        case None:
            return ""
        case _:
            return str(value)


def _costs(settings: Settings, name: str) -> bool:
    """Whether a model may cost money: it is not on this machine."""
    model = parse_model_id(name)
    return model.vendor is not Vendor.PLACEHOLDER and not endpoint_for(settings, model).on_loopback
