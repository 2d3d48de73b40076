"""Providers of models that other packages bring: `extension/NAME/MODEL` names the entry point and its model."""

from collections.abc import Callable
from dataclasses import dataclass

from daemon.core.errors import ConfigError
from daemon.core.extensions import ExtensionFault, ExtensionGroup, extension
from daemon.llm.model_id import ModelId
from daemon.llm.provider import Provider


@dataclass(frozen=True, slots=True)
class ProviderExtension:
    """What stands behind an entry point of `soul_daemon.providers`; `open` makes the provider at its first call."""

    open: Callable[[], Provider]


def provider_named(model: ModelId) -> ProviderExtension:
    """The provider of a model. Raises ConfigError."""
    name, slash, rest = model.name.partition("/")
    if not (name and slash and rest):
        raise ConfigError(f"{model.full} names no model of a provider", hint="write extension/NAME/MODEL")
    try:
        found = extension(ExtensionGroup.PROVIDER, name)
    except ExtensionFault as fault:
        raise ConfigError(f"{model.full}: {fault.message}", hint=fault.hint) from fault
    if not isinstance(found, ProviderExtension):
        what = f"{name!r} is a {type(found).__name__}, no ProviderExtension"
        raise ConfigError(f"{model.full}: {what}", hint="see docs/EXTENDING.md")
    return found
