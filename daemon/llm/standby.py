"""The models that stand by for those of the roles, and the audiences whose words may go to their vendors (P33)."""

from collections.abc import Mapping
from dataclasses import dataclass

from daemon.core.config import Settings
from daemon.core.errors import ConfigError
from daemon.core.perception import Audience, AudienceKind
from daemon.core.ports.models import ModelRole
from daemon.llm.endpoint import endpoint_for
from daemon.llm.model_id import ModelId, Vendor, parse_model_id

_SETTINGS = {
    AudienceKind.DM: "SOUL_STANDBY_DM",
    AudienceKind.CHANNEL: "SOUL_STANDBY_CHANNEL",
    AudienceKind.WORKSPACE: "SOUL_STANDBY_WORKSPACE",
}


@dataclass(frozen=True, slots=True)
class Standby:
    """The second model of each role that has one, and the vendors that each kind of audience allows."""

    models: Mapping[ModelRole, ModelId]
    allowed: Mapping[AudienceKind, frozenset[str]]

    def model_for(self, role: ModelRole, first: ModelId, audience: Audience | None) -> ModelId | None:
        """The model that may take the first one's place before an audience; None where none may.

        An audience of which nothing is known allows nobody. The first model's own vendor has the words anyway, but for
        OpenRouter, which passes them on to another company.
        """
        second = self.models.get(role)
        if second is None or second == first or audience is None:
            return None
        own = second.vendor is first.vendor and second.vendor is not Vendor.OPENROUTER
        return second if own or second.vendor in self.allowed.get(audience.kind, frozenset()) else None

    def closed_to(self, role: ModelRole, first: ModelId) -> tuple[str, ...]:
        """The settings that don't name the vendor of the role's second model, so that it never stands in there."""
        if role not in self.models:
            return ()
        kinds = [kind for kind in _SETTINGS if self.model_for(role, first, Audience(kind, "")) is None]
        return tuple(_SETTINGS[kind] for kind in kinds)


def choose_standby(settings: Settings) -> Standby:
    """The models that stand by, by the settings; the one that speaks also thinks, unless there is one for that.

    Raises ConfigError for a missing key, for a placeholder, and for an unknown vendor.
    """
    persona = settings.persona_standby.strip()
    ids = {ModelRole.PERSONA: persona, ModelRole.THINKING: settings.thinking_standby.strip() or persona}
    models = {role: parse_model_id(text) for role, text in ids.items() if text}
    for model in models.values():
        if model.vendor is Vendor.PLACEHOLDER:
            raise ConfigError(
                f"{model.full} can't stand by for a model",
                hint="name a real model in SOUL_PERSONA_STANDBY and SOUL_THINKING_STANDBY, or none",
            )
        endpoint_for(settings, model)
    return Standby(models, _allowed(settings))


def _allowed(settings: Settings) -> dict[AudienceKind, frozenset[str]]:
    given = {
        AudienceKind.DM: settings.standby_dm,
        AudienceKind.CHANNEL: settings.standby_channel,
        AudienceKind.WORKSPACE: settings.standby_workspace,
    }
    vendors = [vendor.value for vendor in Vendor if vendor is not Vendor.PLACEHOLDER]
    for kind, names in given.items():
        if unknown := sorted(set(names) - set(vendors)):
            raise ConfigError(
                f"{_SETTINGS[kind]} names {unknown[0]!r}, which is no vendor of models",
                hint=f"use the prefixes of model ids: {', '.join(vendors)}",
            )
    return {kind: frozenset(names) for kind, names in given.items()}
