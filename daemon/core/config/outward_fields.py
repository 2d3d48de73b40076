"""Settings about other programs: who speaks aloud for the soul, and who is told of its work."""

from pydantic import Field, SecretStr

from daemon.core.config.mind_fields import MindFields


class OutwardFields(MindFields):
    """The last fields of `Settings`."""

    # Speech
    tts_url: str = Field(
        "", description="Base URL of an OpenAI-compatible speech endpoint. Empty: espeak-ng, where it is installed."
    )
    tts_model: str = Field("gpt-4o-mini-tts", description="Model of the speech endpoint.")
    tts_voice: str = Field("alloy", description="Voice of the speech endpoint.")
    tts_api_key: SecretStr | None = Field(None, description="Key for the speech endpoint.")

    # Traces
    otlp_url: str = Field(
        "",
        description="Address to which traces go as OpenTelemetry (OTLP over HTTP), e.g. "
        "http://localhost:4318/v1/traces: each cycle and its model calls, without a word of anybody. Empty: nowhere.",
    )
    otlp_headers: SecretStr | None = Field(
        None, description="Headers that go with them, as name=value with commas, where the other end wants a key."
    )
