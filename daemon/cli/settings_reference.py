"""The generator of `.env.example`: each setting with its variable, meaning, bounds and default."""

from pathlib import Path

from annotated_types import Ge, Gt, Le
from pydantic.fields import FieldInfo

from daemon.core.config import Settings
from daemon.core.config.sources import environment_name
from daemon.core.packaged import packaged_table

_HEADER = """\
# Every setting of the Soul Daemon. None is required. Copy this file to .env; remove the # before a line to change it.
# Environment variables win over .env. NAME_FILE=/path reads the value of NAME from a file. Under systemd, tokens are
# credentials: see systemd/.
"""


def descriptions() -> dict[str, dict[str, str]]:
    """Return what each setting means, by the name of its field, in sections."""
    return packaged_table("core/config/descriptions.toml")


def settings_reference() -> str:
    """Return the text of `.env.example`, generated from Settings and their descriptions."""
    parts = [_HEADER]
    for section, meanings in descriptions().items():
        parts.append(f"\n# {f' {section} '.center(60, '-')}\n")
        for name, meaning in meanings.items():
            field = Settings.model_fields[name]
            parts.append(f"\n# {meaning}{_bounds(field)}\n#{environment_name(name, field)}={_default(field)}\n")
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
