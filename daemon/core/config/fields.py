"""The fields of all settings: names, defaults, bounds and descriptions. `.env.example` is generated from them."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AliasChoices, Field, SecretStr
from pydantic_settings import BaseSettings, NoDecode

LogLevel = Literal["minimal", "standard", "verbose", "debug"]


def _alias(name: str) -> AliasChoices:
    return AliasChoices(name)


class SettingsFields(BaseSettings):
    """The fields of `Settings`, from Slack to the memory."""

    # Slack
    slack_bot_token: SecretStr | None = Field(
        None,
        validation_alias=_alias("SLACK_BOT_TOKEN"),
        description="Bot token (xoxb-…). Without both tokens the daemon starts a local workspace.",
    )
    slack_app_token: SecretStr | None = Field(
        None,
        validation_alias=_alias("SLACK_APP_TOKEN"),
        description="App-level token (xapp-…) with the scope connections:write.",
    )
    slack_api_url: str = Field(
        "https://slack.com/api/", validation_alias=_alias("SLACK_API_URL"), description="Base URL of Slack's Web API."
    )
    slack_sockets: int = Field(
        2, ge=1, le=10, description="Socket Mode connections at once; with two, Slack's refreshes leave no gap."
    )
    slack_streaming: Literal["everywhere", "dms"] = Field(
        "everywhere",
        description="Where replies appear while they are written. In channels only the user who asked sees them grow; "
        "all others see the first 80 characters until the end.",
    )
    slack_acknowledge: bool = Field(
        False,
        description="Mark a message with :eyes: while it is worked on and with :white_check_mark: once it is answered; "
        "needs the scope reactions:write, which `soul manifest` then asks for.",
    )
    rehearsal_clock: bool = Field(
        False,
        description="Live by the clock of a local workspace in another process; refused beside the real Slack.",
    )

    # Models
    persona_model: str = Field(
        "",
        description="Prefixed id of the model that speaks, e.g. anthropic/claude-sonnet-5-5. "
        "Empty: chosen by the key that is set, else the placeholder.",
    )
    thinking_model: str = Field(
        "",
        description="Prefixed id of the model that thinks. "
        "Empty: the model that speaks, or a cheaper one if both are empty.",
    )
    persona_standby: str = Field(
        "",
        description="Prefixed id of a second model that speaks when the first is down or refuses. "
        "It stands in only where the audience's words may go to its vendor; see the three settings below.",
    )
    thinking_standby: str = Field("", description="A second model that thinks. Empty: the second one that speaks.")
    step_models: Annotated[tuple[str, ...], NoDecode] = Field((), description="Models of steps: feel=groq/….")
    standby_dm: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Vendors to which the words of direct messages may go when a second model stands in: "
        "anthropic, openai, openrouter, groq, ollama, local, comma-separated. The first model's vendor needs no entry.",
    )
    standby_channel: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="The same for the words of private channels and group messages."
    )
    standby_workspace: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="The same for the words of public channels."
    )
    anthropic_api_key: SecretStr | None = Field(
        None, validation_alias=_alias("ANTHROPIC_API_KEY"), description="Key for models with the prefix anthropic/."
    )
    anthropic_base_url: str = Field(
        "https://api.anthropic.com",
        validation_alias=_alias("ANTHROPIC_BASE_URL"),
        description="Base URL of the Messages API.",
    )
    openai_api_key: SecretStr | None = Field(
        None, validation_alias=_alias("OPENAI_API_KEY"), description="Key for models with the prefix openai/."
    )
    openai_base_url: str = Field(
        "https://api.openai.com/v1",
        validation_alias=_alias("OPENAI_BASE_URL"),
        description="Base URL for openai/ models.",
    )
    openrouter_api_key: SecretStr | None = Field(
        None,
        validation_alias=_alias("OPENROUTER_API_KEY"),
        description="Key for OpenRouter, which takes every id without a known prefix.",
    )
    openrouter_url: str = Field("https://openrouter.ai/api/v1", description="Base URL of OpenRouter.")
    groq_api_key: SecretStr | None = Field(
        None, validation_alias=_alias("GROQ_API_KEY"), description="Key for models with the prefix groq/."
    )
    groq_url: str = Field("https://api.groq.com/openai/v1", description="Base URL of Groq.")
    ollama_url: str = Field(
        "http://localhost:11434/v1", description="Base URL of a local Ollama, for the prefix ollama/."
    )
    local_url: str = Field(
        "http://127.0.0.1:8080/v1",
        description="Base URL of another model server with OpenAI's protocol, such as llama.cpp, LM Studio or vLLM, "
        "for the prefix local/.",
    )
    local_models: bool = Field(
        True,
        description="Where neither a key nor a model is set: look for a model server at the usual ports here. "
        "In a local workspace and in `soul chat` its model speaks; in Slack it is only named.",
    )
    model_timeout: float = Field(120.0, gt=0, description="Seconds that one model call may take in all.")
    model_silence: float = Field(45.0, gt=0, description="Seconds without a byte, after the first, that end a call.")

    # The soul and its home
    home: Path = Field(Path(), description="Data folder, which holds memory.db.")
    name: str = Field("minoan", description="The soul's name: a folder under the souls directory.")
    souls_dir: Path | None = Field(
        None, description="Folder of souls. Empty: `souls` in the data folder, else the souls shipped with the daemon."
    )

    # Who may talk
    members: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Slack user ids that may talk to the soul, comma-separated. Empty: every full member."
    )
    allow_guests: bool = Field(False, description="Let guests of the workspace talk to the soul.")
    allow_bots: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Bot ids or bot user ids that may talk to the soul, comma-separated."
    )
    allow_strangers: bool = Field(False, description="Let users of other workspaces (Slack Connect) talk to the soul.")
    allow_organisation: bool = Field(
        True, description="Let users of the other workspaces of our Enterprise Grid organisation talk to the soul."
    )
    allow_shared_channels: bool = Field(False, description="Answer in channels shared with other workspaces.")

    # What may be linked to
    link_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Hosts that a reply may always link to, comma-separated, each with the hosts below it. "
        "Other links work if a user, a source or the soul's own text named their host; the rest are shown as text.",
    )

    # Work
    max_cycles: int = Field(
        32,
        ge=1,
        le=256,
        description="Conversations worked on at the same time, at most; fewer while the model is overloaded. "
        "A quarter is kept for DMs.",
    )
    most_waiting: int = Field(
        200,
        ge=1,
        description="Conversations of one user that may be open at once; the user is asked to try others later.",
    )
    deadline: float = Field(
        180.0, gt=0, description="Seconds from its arrival within which each message gets a reply or an apology."
    )
    lease: float = Field(
        30.0, gt=0, description="Seconds after which an unrenewed claim on a conversation or a post expires."
    )
    in_doubt: float = Field(
        10.0, gt=0, description="Seconds to wait before looking up a post that may or may not have been sent."
    )
    stale_after: float = Field(
        3600.0,
        gt=0,
        description="Seconds after which a message or post is reported instead of answered or sent.",
    )
    backfill_hours: float = Field(24.0, ge=0, description="Hours of Slack history that are read after a gap.")
    backfill_threads: int = Field(
        200,
        ge=0,
        description="Threads quiet for over three days that are read after a gap too. All other rooms and threads are.",
    )
    drain: float = Field(20.0, gt=0, description="Seconds that unfinished work may take after the first SIGTERM.")

    # Alarms
    ops_channel: str = Field(
        "", description="Id of a channel that hears once of what needs an admin. Empty: direct messages to the admins."
    )
    admins: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Slack user ids of the admins, comma-separated. Empty: those of SOUL_APPROVERS."
    )

    # Money
    max_usd_a_day: float | None = Field(
        None,
        ge=0,
        description="US dollars that each soul may spend on models in a day. Empty: no cap; 0: models that cost "
        "nothing alone.",
    )
    max_usd_a_day_person: float | None = Field(None, ge=0, description="The same for what each person asks of it.")
    max_usd_a_day_room: float | None = Field(
        None, ge=0, description="The same for what it does in each channel, group or direct message."
    )
    cap_zone: str = Field(
        "", description="Time zone whose midnight begins a new day of the caps, e.g. Europe/Berlin. Empty: UTC."
    )

    # The local workspace
    workspace_port: int = Field(
        8765, ge=0, le=65535, description="Port of the local workspace on this machine; 0 picks a free one."
    )

    # Logs
    debug: bool = Field(
        False, description="Same as SOUL_LOG_LEVEL=debug: the log then shows private thoughts and users' words."
    )
    log_level: LogLevel = Field("standard", description="What the log shows: minimal, standard, verbose or debug.")

    # Mental processes
    visit_silence: float = Field(
        14_400.0, gt=0, description="Seconds of silence that end a visit; the next message begins a new one."
    )
    learn_after: float = Field(
        90.0,
        ge=0,
        description="Seconds of silence after which it looks through what a person told; after eight such messages it "
        "doesn't wait.",
    )
    dormant_after: float = Field(1_800.0, gt=0, description="Seconds of silence after which the soul becomes dormant.")
    trace_days: int = Field(
        90,
        ge=0,
        description="Days for which state histories, finished schedules and what was done by night are kept; "
        "0 keeps them forever.",
    )
    queue_text_days: int = Field(
        30, ge=0, description="Days for which the queues keep texts that are settled; turns keep them. 0: forever."
    )
    job_days: int = Field(7, ge=0, description="Days for which finished background jobs are kept; 0: forever.")
    call_days: int = Field(
        90, ge=0, description="Days after which model calls are only kept as sums of a day; 0: each is kept forever."
    )
    backup_share: float = Field(
        0.1, gt=0, le=0.9, description="Share of the disk, from 0 to 1, that the copies in the folder backups may take."
    )
    schedule_max: int = Field(
        100, ge=0, description="Scheduled intentions that a soul may have at once; one user may have a tenth of them."
    )

    # The autonomous loop (ISM)
    ism_enabled: bool | None = Field(
        None,
        validation_alias=_alias("ISM_ENABLED"),
        description="Whether souls solve hard problems by choosing actions themselves; soul.toml can override it. "
        "Empty: the reading half (think, look up, read, ask, answer) where there are library folders or MCP servers; "
        "true: reminders, tools that ask for a click and handing over, too; false: nothing of it.",
    )
    ism_max_loops: int = Field(
        5,
        ge=1,
        le=50,
        validation_alias=_alias("ISM_MAX_LOOPS"),
        description="Choices of actions per problem before the soul answers or asks.",
    )
    ism_max_tokens: int = Field(60_000, ge=1, description="Tokens, in and out, that one problem may use.")
    ism_max_usd: float = Field(0.5, gt=0, description="US dollars that one problem may cost, where prices are known.")
    ism_max_seconds: float = Field(
        120.0,
        gt=0,
        description="Seconds of uninterrupted work on one problem; keep it below SOUL_DEADLINE.",
    )
    approval_seconds: float = Field(900.0, gt=0, description="Seconds after which a request for permission expires.")
    approvers: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Slack user ids that may approve a tool's changes, comma-separated. "
        "Empty: the user whom the soul is answering.",
    )
    library: Annotated[tuple[Path, ...], NoDecode] = Field(
        (),
        description="Folders of text, code, PDFs, office files and tables that the soul may search, comma-separated.",
    )
    library_public: Annotated[tuple[Path, ...], NoDecode] = Field(
        (),
        description="Further folders of the library, which guests and other organisations may be answered from too, "
        "comma-separated.",
    )
    mcp_servers: Path | None = Field(
        None, description='A JSON file with MCP servers, in the usual form {"mcpServers": {"name": {"command": …}}}.'
    )

    # Further souls
    souls: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Further souls of this daemon, comma-separated; each answers in the channels of its soul.toml.",
    )

    # The HTTP API
    http: bool = Field(True, description="Serve the HTTP API: chat, personality, speech, health and metrics.")
    http_host: str = Field("127.0.0.1", description="Address that the HTTP API listens on.")
    http_port: int = Field(8766, ge=0, le=65535, description="Port of the HTTP API; 0 picks a free one.")
    http_names: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Names by which clients reach the HTTP API through a proxy that serves https, with commas. A "
        "request that names another host is refused.",
    )
    http_token: SecretStr | None = Field(
        None, description="Bearer token of the HTTP API. Empty: generated at the first start and stored in http.token."
    )
    session_hourly: int = Field(
        20,
        ge=0,
        description="How often the sessions of one key may ask the soul over MCP, or have a text kept, in an hour.",
    )
    # Files in messages
    senses_mb: int = Field(
        500,
        ge=0,
        description="Megabytes for the pictures that users sent; the oldest go first. 0: none is kept.",
    )
    stt_url: str = Field(
        "",
        description="Base URL of an OpenAI-compatible transcription endpoint. Empty: recordings are not listened to.",
    )
    stt_model: str = Field("gpt-4o-mini-transcribe", description="Model of the transcription endpoint.")
    stt_api_key: SecretStr | None = Field(None, description="Key for the transcription endpoint.")

    # Privacy
    tell_of_memory: bool = Field(
        True, description="Say below a person's first direct reply, once, that the soul remembers, and how to stop it."
    )

    turn_days: int = Field(
        0, ge=0, description="Days after which what was said is erased with all that was made of it; 0: never."
    )
    fact_days: int = Field(0, ge=0, description="Days after which a fact that no longer holds is erased; 0: never.")
    episode_days: int = Field(0, ge=0, description="Days after which episodes and their cores are erased; 0: never.")
    sense_days: int = Field(0, ge=0, description="Days after which what was seen or heard is erased; 0: never.")
    journal_days: int = Field(0, ge=0, description="Days after which the soul's own notes are erased; 0: never.")

    mirror: str = Field(
        "",
        description="A folder below SOUL_HOME, of its own, in which every memory is kept as a file, as `soul memory "
        "passport export` writes them, current while the daemon runs. Empty: none; an earlier one is deleted.",
    )

    # Consolidation
    consolidate: str = Field(
        "0 3 * * *",
        description="When memories are looked through: a crontab with five fields, or off. It waits until nobody has "
        "spoken for half an hour.",
    )
    consolidate_zone: str = Field(
        "",
        description="Time zone of that crontab, e.g. Europe/Berlin. Empty: the zone in which most people of the "
        "workspace live, as far as it is known, else UTC.",
    )
    consolidate_tokens: int = Field(
        50_000,
        ge=0,
        description="Tokens, in and out, that one night may use; what does not fit waits for the next one.",
    )

    # Recall
    embedder: Literal["local", "endpoint", "none"] = Field(
        "local",
        description="How memories are found by meaning: local (a small model that comes with the daemon), endpoint "
        "(an OpenAI-compatible one; all that is remembered is sent there), or none (full-text search alone).",
    )
    embedder_url: str = Field(
        "",
        description="Base URL of the embedding endpoint, for SOUL_EMBEDDER=endpoint, e.g. http://localhost:11434/v1.",
    )
    embedder_model: str = Field("", description="Model of the embedding endpoint.")
    embedder_api_key: SecretStr | None = Field(None, description="Key for the embedding endpoint, if it wants one.")

    chroma_from: int = Field(
        5_000,
        ge=1,
        description="Vectors of one audience from which on Chroma searches them; fewer are scanned exactly. "
        "It has 64 collections at most: where more audiences are so large, the largest get one.",
    )

    # Shared state
    shared_contexts: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        validation_alias=_alias("SHARED_CONTEXTS"),
        description="Keys of the shared contexts that every soul of this daemon knows when it answers, with commas. "
        "`soul context` shows and changes them.",
    )
    pair_hourly: int = Field(
        20, ge=0, description="Notes that may go between two souls in an hour; the answer to one doesn't count."
    )
