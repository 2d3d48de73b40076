"""Writes `.env.example`: every setting under its variable, with what it means, its bounds and its default."""

from pathlib import Path

from annotated_types import Ge, Gt, Le
from pydantic.fields import FieldInfo

from daemon.core.config import Settings
from daemon.core.config.sources import environment_name

# The field with which each section begins.
SECTIONS = {
    "slack_bot_token": "Slack",
    "persona_model": "Models",
    "home": "The soul and its home",
    "members": "Who may talk",
    "max_cycles": "Work",
    "workspace_port": "The local workspace",
    "debug": "Logs",
    "visit_silence": "Mental processes",
    "ism_enabled": "The autonomous loop",
    "souls": "Further souls",
    "http": "The HTTP door",
    "shared_contexts": "Reserved",
}
_HEADER = """\
# Every setting of the Soul Daemon. Copy this file to .env and remove the # before what you change; none is required.
# Values of the environment win over .env. Instead of a value, NAME_FILE=/path names a file that holds it; under systemd
# tokens are credentials, see systemd/.
"""


def settings_reference() -> str:
    """The whole text of `.env.example`, made from Settings and nothing else."""
    parts = [_HEADER]
    for name, field in Settings.model_fields.items():
        if name in SECTIONS:
            parts.append(f"\n# {f' {SECTIONS[name]} '.center(60, '-')}\n")
        parts.append(f"\n# {field.description}{_bounds(field)}\n#{environment_name(name, field)}={_default(field)}\n")
    return "".join(parts)


def _default(field: FieldInfo) -> str:
    """The default as one would type it; nothing for what is unset or empty."""
    value = field.get_default()
    if value is None or value == () or value == Path():
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _bounds(field: FieldInfo) -> str:
    """The numbers allowed, as a parenthesis; nothing where there are none."""
    told = []
    for bound in field.metadata:
        match bound:
            case Ge(ge=limit):
                told.append(f"at least {limit}")
            case Gt(gt=limit):
                told.append(f"more than {limit}")
            case Le(le=limit):
                told.append(f"at most {limit}")
    return f" ({', '.join(told)})" if told else ""
