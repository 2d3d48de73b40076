"""Settings about what is told to other programs."""

from pydantic import Field, SecretStr

from daemon.core.config.fields import SettingsFields


class OutwardFields(SettingsFields):
    """The last fields of `Settings`."""

    # Traces
    otlp_url: str = Field(
        "",
        description="Address to which traces go as OpenTelemetry (OTLP over HTTP), e.g. "
        "http://localhost:4318/v1/traces: each cycle and its model calls, without a word of anybody. Empty: nowhere.",
    )
    otlp_headers: SecretStr | None = Field(
        None, description="Headers that go with them, as name=value with commas, where the other end wants a key."
    )
