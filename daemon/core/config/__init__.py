"""Settings: this package alone reads the environment, and reports every fault at once."""

import os
from collections.abc import Mapping

from pydantic import SecretStr, ValidationError

from daemon.core.config.fields import LogLevel, Settings
from daemon.core.config.sources import did_you_mean, environment_name, read_dotenv, sentence
from daemon.core.errors import ConfigError

__all__ = [
    "LogLevel",
    "Settings",
    "environment",
    "forget_secrets",
    "load_settings",
    "one_thread_for_numbers",
    "unknown_settings",
]


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
