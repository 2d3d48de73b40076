"""`soul settings`: every setting with its value and meaning, as in `.env.example`; and shell completion."""

from pathlib import Path
from typing import Final

import click
from annotated_types import Ge, Gt, Le
from click.shell_completion import get_completion_class
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from daemon.cli.listing import say, say_json, table
from daemon.core.config import Settings, load_settings, unknown_settings
from daemon.core.config.sources import environment_name
from daemon.core.packaged import packaged_table


@click.command("settings")
@click.option("--reference", is_flag=True, help="Print .env.example: meanings, bounds and defaults.")
@click.option("--soul", "of_soul", is_flag=True, help="Print every field of a soul, its states and sentences.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: variable -> {value, set, description}.")
def settings_command(reference: bool, of_soul: bool, as_json: bool) -> None:
    """Show every setting and its value; secrets show only whether they are set."""
    if of_soul:
        from daemon.cli.soul_fields import soul_reference  # slow to import

        click.echo(soul_reference(), nl=False)
        return
    if reference:
        click.echo(settings_reference(), nl=False)
        return
    settings = load_settings()
    meanings = {name: text for section in descriptions().values() for name, text in section.items()}
    values = {
        environment_name(name, field): {
            "value": as_typed(settings, name),
            "set": name in settings.model_fields_set,
            "description": meanings[name],
        }
        for name, field in Settings.model_fields.items()
    }
    if as_json:
        say_json(values)
        return
    rows = [(variable, str(shown["value"]), "set" if shown["set"] else "") for variable, shown in values.items()]
    table(("SETTING", "VALUE", ""), rows)
    for fault in unknown_settings():
        say(f"note: {fault}")


def as_typed(settings: Settings, name: str) -> str:
    """Return a value as an admin types it; a secret as `(secret)`."""
    value = getattr(settings, name)
    if isinstance(value, SecretStr):
        return "(secret)"
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(context: click.Context, shell: str) -> None:
    """Print what lets a shell complete commands and options.

    \b
    bash: soul completion bash >~/.soul-completion, and `source ~/.soul-completion` in ~/.bashrc
    zsh:  the same with zsh and ~/.zshrc
    fish: soul completion fish >~/.config/fish/completions/soul.fish
    """
    complete = get_completion_class(shell)
    assert complete is not None  # click has all three
    click.echo(complete(context.find_root().command, {}, "soul", "_SOUL_COMPLETE").source())


_HEADER: Final = """\
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
