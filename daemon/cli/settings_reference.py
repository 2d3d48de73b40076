"""The generator of `.env.example`: each setting with its variable, meaning, bounds and default."""

from pathlib import Path

from annotated_types import Ge, Gt, Le
from pydantic.fields import FieldInfo

from daemon.core.config import Settings
from daemon.core.config.sources import environment_name

# The first field of each section.
SECTIONS = {
    "slack_bot_token": "Slack",
    "persona_model": "Models",
    "home": "The soul and its home",
    "members": "Who may talk",
    "link_hosts": "What may be linked to",
    "max_cycles": "Work",
    "max_usd_a_day": "Money",
    "workspace_port": "The local workspace",
    "debug": "Logs",
    "visit_silence": "Mental processes",
    "ism_enabled": "The autonomous loop",
    "souls": "Further souls",
    "http": "The HTTP API",
    "shared_contexts": "Shared state",
    "cycle_enabled": "Thinking unasked",
    "otlp_url": "Traces",
}
_HEADER = """\
# Every setting of the Soul Daemon. None is required. Copy this file to .env; remove the # before a line to change it.
# Environment variables win over .env. NAME_FILE=/path reads the value of NAME from a file. Under systemd, tokens are
# credentials: see systemd/.
"""


def settings_reference() -> str:
    """Return the text of `.env.example`, generated from Settings."""
    parts = [_HEADER]
    for name, field in Settings.model_fields.items():
        if name in SECTIONS:
            parts.append(f"\n# {f' {SECTIONS[name]} '.center(60, '-')}\n")
        parts.append(f"\n# {field.description}{_bounds(field)}\n#{environment_name(name, field)}={_default(field)}\n")
    return "".join(parts)


def _default(field: FieldInfo) -> str:
    value = field.get_default()
    if value is None or value == () or value == Path():
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _bounds(field: FieldInfo) -> str:
    bounds = []
    for bound in field.metadata:
        match bound:
            case Ge(ge=limit):
                bounds.append(f"at least {limit}")
            case Gt(gt=limit):
                bounds.append(f"more than {limit}")
            case Le(le=limit):
                bounds.append(f"at most {limit}")
    return f" ({', '.join(bounds)})" if bounds else ""
