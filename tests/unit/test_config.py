"""Settings: their sources, which source wins, and the error for a wrong value."""

import os
import re
from pathlib import Path

import pytest

from daemon.cli.reference.settings import SECTIONS, settings_reference
from daemon.core.config import Settings, environment, load_settings, unknown_settings
from daemon.core.errors import ConfigError
from daemon.core.systemd import ServiceEnvironment

EXAMPLE = Path(__file__).parents[2] / ".env.example"
BOT = "xoxb-1-canary-bot"
APP = "xapp-1-canary-app"


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Only the variables and the `.env` that a test sets."""
    for name in list(os.environ):
        if name not in {"PATH", "HOME", "PYTEST_CURRENT_TEST"}:
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def _dotenv(text: str) -> None:
    Path(".env").write_text(text, encoding="utf-8")


def test_without_any_setting_the_defaults_hold() -> None:
    settings = load_settings()
    assert (settings.name, settings.slack_bot_token, settings.secrets) == ("minoan", None, ())
    assert settings.database_path == Path("memory.db")


def test_well_known_names_have_no_prefix_and_all_others_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", BOT)
    monkeypatch.setenv("SOUL_NAME", "kothar")
    monkeypatch.setenv("SOUL_SLACK_APP_TOKEN", APP)
    settings = load_settings()
    assert settings.secrets == (BOT,)
    assert settings.name == "kothar"


def test_quiet_hours_can_be_set_to_none_where_an_empty_value_else_counts_as_unset(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOUL_NAME", "")
    assert (load_settings().quiet_hours, load_settings().name) == ("20:00-08:00", "minoan")
    _dotenv("SOUL_QUIET_HOURS=\n")
    assert load_settings().quiet_hours == ""
    monkeypatch.setenv("SOUL_QUIET_HOURS", "22:00-06:00")
    assert load_settings().quiet_hours == "22:00-06:00"
    _dotenv("SOUL_QUIET_HOURS=22:00-06:00\n")
    monkeypatch.setenv("SOUL_QUIET_HOURS", "")
    assert load_settings().quiet_hours == ""


@pytest.mark.parametrize("hours", ["24:00-08:00", "20:00", "20:00-8:00", "20:00-08:00 ", "20:00-08:00\n", "none", "-"])
def test_what_are_no_quiet_hours_is_answered_with_their_form(monkeypatch: pytest.MonkeyPatch, hours: str) -> None:
    monkeypatch.setenv("SOUL_QUIET_HOURS", hours)
    with pytest.raises(ConfigError, match="must be two times of day, such as 20:00-08:00, or empty for none, not"):
        load_settings()


def test_a_dotenv_in_the_working_directory_is_read() -> None:
    _dotenv(f"SLACK_BOT_TOKEN={BOT}\nSOUL_MEMBERS=U1, U2,\n# a comment\nSOUL_LOG_LEVEL=Verbose\n")
    settings = load_settings()
    assert settings.secrets == (BOT,)
    assert settings.members == ("U1", "U2")
    assert settings.log_level == "verbose"


def test_each_source_outranks_the_ones_after_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    credentials = tmp_path / "credentials"
    credentials.mkdir()

    def name() -> str:
        return load_settings().name

    _dotenv("SOUL_NAME=dotenv\n")
    assert name() == "dotenv"
    (tmp_path / "written").write_text("dotenv-file\n")
    _dotenv(f"SOUL_NAME=dotenv\nSOUL_NAME_FILE={tmp_path}/written\n")
    assert name() == "dotenv-file"
    monkeypatch.setenv("SOUL_NAME", "variable")
    assert name() == "variable"
    (tmp_path / "given").write_text(" file \n")
    monkeypatch.setenv("SOUL_NAME_FILE", str(tmp_path / "given"))
    assert name() == "file"
    (credentials / "soul-name").write_text("credential\n")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(credentials))
    assert name() == "credential"
    assert load_settings(name="argument").name == "argument"


def test_blank_means_unset_in_every_source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _dotenv(f"SLACK_BOT_TOKEN={BOT}\nSOUL_LEASE=\nSOUL_MEMBERS=\n")
    (tmp_path / "slack-bot-token").write_text("\n")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    monkeypatch.setenv("SLACK_BOT_TOKEN", "")
    monkeypatch.setenv("SLACK_APP_TOKEN", "   ")
    monkeypatch.setenv("SOUL_MAX_CYCLES", "")
    settings = load_settings()
    assert settings.secrets == (BOT,)
    assert (settings.slack_app_token, settings.max_cycles, settings.lease, settings.members) == (None, 32, 30.0, ())


def test_secrets_lose_their_white_space_and_are_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", f" {BOT}\n")
    settings = load_settings(anthropic_api_key="sk-ant-canary")
    assert settings.secrets == (BOT, "sk-ant-canary")
    for shown in (repr(settings), str(settings), settings.model_dump_json()):
        assert "canary" not in shown


def test_all_faults_are_reported_at_once_in_plain_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"caf\xe9")
    for name, value in {
        "SOUL_MAX_CYCLES": "many",
        "SOUL_SLACK_SOCKETS": "11",
        "SOUL_BACKFILL_HOURS": "-1",
        "SOUL_DEADLINE": "0",
        "SOUL_LEASE": "soon",
        "SOUL_DRAIN": "inf",
        "SOUL_DEBUG": "perhaps",
        "ISM_ENABLED": "half",
        "SOUL_LOG_LEVEL": "loud",
        "SOUL_NAME": "../etc",
        "SOUL_QUIET_HOURS": "8pm-8am",
        "SOUL_HTTP_PORT": "\udcff",
        "SOUL_HOME": "~nobody-of-that-name/soul",
        "OPENAI_BASE_URL": "api.openai.com",
        "SLACK_BOT_TOKEN_FILE": str(tmp_path / "absent"),
        "SLACK_APP_TOKEN_FILE": str(tmp_path / "latin"),
        "GROQ_API_KEY_FILE": "~nobody-of-that-name/key",
    }.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError) as caught:
        load_settings()
    message = caught.value.message
    for sentence in (
        "SOUL_MAX_CYCLES must be a whole number, not 'many'",
        "SOUL_SLACK_SOCKETS must be at most 10, not '11'",
        "SOUL_BACKFILL_HOURS must be at least 0, not '-1'",
        "SOUL_DEADLINE must be more than 0, not '0'",
        "SOUL_LEASE must be a number, not 'soon'",
        "SOUL_DRAIN must be a finite number, not 'inf'",
        "SOUL_DEBUG must be true or false, not 'perhaps'",
        "ISM_ENABLED must be true or false, not 'half'",
        "SOUL_LOG_LEVEL must be minimal, standard, verbose or debug, not 'loud'",
        "SOUL_NAME must be the name of a folder",
        "SOUL_QUIET_HOURS must be two times of day, such as 20:00-08:00, or empty for none, not '8pm-8am'",
        "SOUL_HTTP_PORT must be text in UTF-8",
        "SOUL_HOME names the home folder of an unknown user",
        "OPENAI_BASE_URL must be an address that begins with https:// or http://",
        f"SLACK_BOT_TOKEN names the file {tmp_path}/absent, which can't be read: no such file or directory",
        f"SLACK_APP_TOKEN names the file {tmp_path}/latin, which is not text in UTF-8",
        "GROQ_API_KEY names the file ~nobody-of-that-name/key, which can't be read",
    ):
        assert sentence in message
    assert "pydantic" not in str(caught.value)
    assert "can't be used" not in message
    assert ".env.example" in caught.value.hint


def test_a_key_pasted_into_the_wrong_line_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOUL_MAX_CYCLES", "0f7c2a9e-1c1b-4a52-9d0e-6b1f2f9a7c11")
    with pytest.raises(ConfigError) as caught:
        load_settings()
    assert caught.value.message == "settings are wrong: SOUL_MAX_CYCLES must be a whole number"


def test_a_value_of_a_wrong_type_from_code_is_reported_too() -> None:
    with pytest.raises(ConfigError, match="SOUL_MAX_CYCLES can't be used"):
        load_settings(max_cycles=None)
    with pytest.raises(TypeError, match="no such settings: colour"):
        load_settings(colour="red")


def test_a_dotenv_that_is_no_text_is_an_error() -> None:
    Path(".env").write_bytes(b"SOUL_NAME=caf\xe9\n")
    with pytest.raises(ConfigError, match=r"\.env is not text in UTF-8"):
        load_settings()


def test_a_tilde_is_the_home_and_slack_s_address_ends_in_a_slash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOUL_HOME", "~/soul")
    settings = load_settings(slack_api_url="http://127.0.0.1:1/api", souls_dir=None)
    assert settings.home == Path.home() / "soul"
    assert settings.slack_api_url == "http://127.0.0.1:1/api/"


def test_debug_is_short_for_the_log_level_debug() -> None:
    assert load_settings(debug=True, log_level="minimal").effective_log_level == "debug"
    assert load_settings(log_level="minimal").effective_log_level == "minimal"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("SOUL_LOGLEVEL", "SOUL_LOGLEVEL is not a setting; did you mean SOUL_LOG_LEVEL?"),
        ("soul_membrs", "soul_membrs is not a setting; did you mean SOUL_MEMBERS?"),
        ("SOUL_SLACK_BOT_TOKEN", "SOUL_SLACK_BOT_TOKEN is not a setting; did you mean SLACK_BOT_TOKEN?"),
        ("SOUL_XYZZY", "SOUL_XYZZY is not a setting"),
    ],
)
def test_an_unknown_variable_is_reported_with_the_nearest_name(name: str, sentence: str) -> None:
    assert unknown_settings({name: "1"}) == (sentence,)


def test_known_variables_and_those_of_other_programs_are_not_reported() -> None:
    known = {f"SOUL_{name.upper()}": "1" for name in ("name", "home", "debug")}
    assert unknown_settings({**known, "SOUL_NAME_FILE": "/x", "soul_name": "x", "PATH": "", "SLACK_COLOUR": ""}) == ()


def test_unknown_variables_are_found_in_the_environment_and_in_the_dotenv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOUL_NAMES", "x")
    _dotenv("SOUL_HOMES=x\n")
    assert unknown_settings() == (
        "SOUL_HOMES is not a setting; did you mean SOUL_HOME?",
        "SOUL_NAMES is not a setting; did you mean SOUL_NAME?",
    )


def test_every_field_has_a_description() -> None:
    assert [name for name, field in Settings.model_fields.items() if not (field.description or "").endswith(".")] == []


def test_the_service_manager_s_variables_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ServiceEnvironment.read(environment()) == ServiceEnvironment("", None, "")
    monkeypatch.setenv("NOTIFY_SOCKET", "@manager")
    monkeypatch.setenv("WATCHDOG_USEC", "60000000")
    monkeypatch.setenv("JOURNAL_STREAM", "8:1234")
    assert ServiceEnvironment.read(environment()) == ServiceEnvironment("@manager", 60_000_000, "8:1234")
    monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()))
    assert ServiceEnvironment.read(environment()).watchdog_usec == 60_000_000


@pytest.mark.parametrize("variables", [{"WATCHDOG_PID": "1"}, {"WATCHDOG_USEC": "0"}, {"WATCHDOG_USEC": "often"}])
def test_a_watchdog_for_another_process_or_without_an_interval_is_ignored(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    for name, value in ({"WATCHDOG_USEC": "60000000"} | variables).items():
        monkeypatch.setenv(name, value)
    assert ServiceEnvironment.read(environment()).watchdog_usec is None


@pytest.mark.parametrize(
    "name", ["https://soul.example.com", "soul.example.com:443", "a b", "-a", "*.example.com", "ä"]
)
def test_what_is_no_name_of_a_host_is_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("SOUL_HTTP_NAMES", "Soul.Example.com, soul-2")
    assert load_settings().http_names == ("soul.example.com", "soul-2")
    monkeypatch.setenv("SOUL_HTTP_NAMES", f"soul.example.com,{name}")
    with pytest.raises(ConfigError, match="SOUL_HTTP_NAMES"):
        load_settings()


def test_the_example_is_generated_from_the_settings() -> None:
    again = "from daemon.cli.reference.settings import settings_reference; print(settings_reference(), end='')"
    assert EXAMPLE.read_text(encoding="utf-8") == settings_reference(), f"write it with: python -c {again!r}"
    assert SECTIONS.keys() <= Settings.model_fields.keys()


def test_the_example_with_every_line_active_changes_nothing() -> None:
    lines = settings_reference().splitlines()
    _dotenv("\n".join(line[1:] for line in lines if line.startswith("#") and line[1:2].isupper()))
    assert load_settings() == Settings.model_construct()
    assert unknown_settings() == ()


@pytest.mark.parametrize(
    ("owner", "mode", "fault"),
    [
        (None, 0o600, ""),
        (None, 0o644, ""),
        (None, 0o664, ""),
        (None, 0o666, "may be written by other users"),
        (65534, 0o600, "belongs to another user (uid 65534)"),
    ],
)
def test_a_dotenv_that_others_could_have_written_is_refused(owner: int | None, mode: int, fault: str) -> None:
    if owner is not None and os.geteuid() != 0:
        pytest.skip("only the superuser gives files away")
    _dotenv("SOUL_NAME=tess\n")
    if owner is not None:
        os.chown(".env", owner, -1)
    Path(".env").chmod(mode)
    if not fault:
        assert load_settings().name == "tess"
        return
    with pytest.raises(ConfigError, match=re.escape(fault)) as caught:
        load_settings()
    assert "chmod 600 .env" in caught.value.hint


@pytest.mark.parametrize(
    "name",
    ["SLACK_API_URL", "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "SOUL_OLLAMA_URL", "SOUL_GROQ_URL", "SOUL_TTS_URL"],
)
def test_no_key_and_no_word_leaves_this_machine_in_clear_text(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for here in ("http://127.0.0.1:8/x/", "http://[::1]/x/", "http://localhost:8080/x/", "https://model.example/x/"):
        monkeypatch.setenv(name, here)
        load_settings()
    for abroad in (
        "http://model.example/x",
        "http://10.0.0.5/x",
        "HTTP://localhost.example",
        "http://[::1]@x.example/",
    ):
        monkeypatch.setenv(name, abroad)
        with pytest.raises(ConfigError, match=f"{name} must "):
            load_settings()
