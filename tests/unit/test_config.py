"""Settings: their sources, which source wins, and the error for a wrong value."""

import os
from pathlib import Path

import pytest

from daemon.cli.settings import descriptions, settings_reference
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


def test_defaults_give_way_to_a_dotenv_and_well_known_names_have_no_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load_settings()
    assert (settings.name, settings.slack_bot_token, settings.secrets) == ("minoan", None, ())
    assert settings.database_path == Path("memory.db")
    _dotenv(f"SLACK_BOT_TOKEN={BOT}\nSOUL_MEMBERS=U1, U2,\n# a comment\nSOUL_LOG_LEVEL=Verbose\n")
    settings = load_settings()
    assert settings.secrets == (BOT,)
    assert settings.members == ("U1", "U2")
    assert settings.log_level == "verbose"
    monkeypatch.setenv("SLACK_BOT_TOKEN", BOT)
    monkeypatch.setenv("SOUL_NAME", "kothar")
    monkeypatch.setenv("SOUL_SLACK_APP_TOKEN", APP)
    settings = load_settings()
    assert settings.secrets == (BOT,)
    assert settings.name == "kothar"


def test_quiet_hours_can_be_set_to_none_and_what_are_none_is_answered_with_their_form(
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
    for hours in ("24:00-08:00", "20:00", "20:00-8:00", "20:00-08:00 ", "20:00-08:00\n", "none", "-"):
        monkeypatch.setenv("SOUL_QUIET_HOURS", hours)
        with pytest.raises(ConfigError, match="must be two times of day, such as 20:00-08:00, or empty for none, not"):
            load_settings()


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
    faults = {
        ("SOUL_MAX_CYCLES", "many"): "must be a whole number, not 'many'",
        ("SOUL_SLACK_SOCKETS", "11"): "must be at most 10, not '11'",
        ("SOUL_BACKFILL_HOURS", "-1"): "must be at least 0, not '-1'",
        ("SOUL_DEADLINE", "0"): "must be more than 0, not '0'",
        ("SOUL_LEASE", "soon"): "must be a number, not 'soon'",
        ("SOUL_DRAIN", "inf"): "must be a finite number, not 'inf'",
        ("SOUL_DEBUG", "perhaps"): "must be true or false, not 'perhaps'",
        ("ISM_ENABLED", "half"): "must be true or false, not 'half'",
        ("SOUL_LOG_LEVEL", "loud"): "must be minimal, standard, verbose or debug, not 'loud'",
        ("SOUL_NAME", "../etc"): "must be the name of a folder",
        (
            "SOUL_QUIET_HOURS",
            "8pm-8am",
        ): "must be two times of day, such as 20:00-08:00, or empty for none, not '8pm-8am'",
        ("SOUL_HTTP_PORT", "\udcff"): "must be text in UTF-8",
        ("SOUL_HOME", "~nobody-of-that-name/soul"): "names the home folder of an unknown user",
        ("OPENAI_BASE_URL", "api.openai.com"): "must be an address that begins with https:// or http://",
        ("SLACK_BOT_TOKEN_FILE", f"{tmp_path}/absent"): (
            f"names the file {tmp_path}/absent, which can't be read: no such file or directory"
        ),
        ("SLACK_APP_TOKEN_FILE", f"{tmp_path}/latin"): f"names the file {tmp_path}/latin, which is not text in UTF-8",
        ("GROQ_API_KEY_FILE", "~nobody-of-that-name/key"): (
            "names the file ~nobody-of-that-name/key, which can't be read"
        ),
    }
    for name, value in faults:
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError) as caught:
        load_settings()
    message = caught.value.message
    for (name, _), fault in faults.items():
        assert f"{name.removesuffix('_FILE')} {fault}" in message
    assert "pydantic" not in str(caught.value)
    assert "can't be used" not in message
    assert ".env.example" in caught.value.hint


def test_a_key_pasted_into_the_wrong_line_is_not_repeated_and_a_wrong_type_from_code_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOUL_MAX_CYCLES", "0f7c2a9e-1c1b-4a52-9d0e-6b1f2f9a7c11")
    with pytest.raises(ConfigError) as caught:
        load_settings()
    assert caught.value.message == "settings are wrong: SOUL_MAX_CYCLES must be a whole number"
    with pytest.raises(ConfigError, match="SOUL_MAX_CYCLES can't be used"):
        load_settings(max_cycles=None)
    with pytest.raises(TypeError, match="no such settings: colour"):
        load_settings(colour="red")


def test_a_dotenv_that_is_no_text_or_that_others_could_have_written_is_refused() -> None:
    Path(".env").write_bytes(b"SOUL_NAME=caf\xe9\n")
    with pytest.raises(ConfigError, match=r"\.env is not text in UTF-8"):
        load_settings()
    for mode in (0o600, 0o644, 0o664):
        _dotenv("SOUL_NAME=tess\n")
        Path(".env").chmod(mode)
        assert load_settings().name == "tess"
    Path(".env").chmod(0o666)
    with pytest.raises(ConfigError, match="may be written by other users") as caught:
        load_settings()
    assert "chmod 600 .env" in caught.value.hint
    if os.geteuid() == 0:  # only the superuser gives files away
        Path(".env").chmod(0o600)
        os.chown(".env", 65534, -1)
        with pytest.raises(ConfigError, match=r"belongs to another user \(uid 65534\)"):
            load_settings()


def test_a_tilde_is_the_home_an_address_ends_in_a_slash_and_debug_is_a_log_level(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOUL_HOME", "~/soul")
    settings = load_settings(slack_api_url="http://127.0.0.1:1/api", souls_dir=None)
    assert settings.home == Path.home() / "soul"
    assert settings.slack_api_url == "http://127.0.0.1:1/api/"
    assert load_settings(debug=True, log_level="minimal").effective_log_level == "debug"
    assert load_settings(log_level="minimal").effective_log_level == "minimal"


def test_unknown_variables_are_found_anywhere_and_reported_with_the_nearest_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = {f"SOUL_{name.upper()}": "1" for name in ("name", "home", "debug")}
    others = {"SOUL_NAME_FILE": "/x", "soul_name": "x", "PATH": "", "SLACK_COLOUR": ""}
    unknown = dict.fromkeys(("SOUL_LOGLEVEL", "SOUL_SLACK_BOT_TOKEN", "SOUL_XYZZY", "soul_membrs"), "1")
    assert unknown_settings({**known, **others, **unknown}) == (
        "SOUL_LOGLEVEL is not a setting; did you mean SOUL_LOG_LEVEL?",
        "SOUL_SLACK_BOT_TOKEN is not a setting; did you mean SLACK_BOT_TOKEN?",
        "SOUL_XYZZY is not a setting",
        "soul_membrs is not a setting; did you mean SOUL_MEMBERS?",
    )
    monkeypatch.setenv("SOUL_NAMES", "x")
    _dotenv("SOUL_HOMES=x\n")
    assert unknown_settings() == (
        "SOUL_HOMES is not a setting; did you mean SOUL_HOME?",
        "SOUL_NAMES is not a setting; did you mean SOUL_NAME?",
    )


def test_the_example_describes_every_field_and_changes_nothing() -> None:
    texts = {name: text for section in descriptions().values() for name, text in section.items()}
    assert list(texts) == list(Settings.model_fields)
    assert [name for name, text in texts.items() if not text.endswith(".")] == []
    again = "from daemon.cli.settings import settings_reference; print(settings_reference(), end='')"
    assert EXAMPLE.read_text(encoding="utf-8") == settings_reference(), f"write it with: python -c {again!r}"
    lines = settings_reference().splitlines()
    _dotenv("\n".join(line[1:] for line in lines if line.startswith("#") and line[1:2].isupper()))
    assert load_settings() == Settings.model_construct()
    assert unknown_settings() == ()


def test_the_service_manager_s_variables_are_read_and_a_watchdog_for_another_process_is_ignored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert ServiceEnvironment.read(environment()) == ServiceEnvironment("", None, "")
    monkeypatch.setenv("NOTIFY_SOCKET", "@manager")
    monkeypatch.setenv("WATCHDOG_USEC", "60000000")
    monkeypatch.setenv("JOURNAL_STREAM", "8:1234")
    assert ServiceEnvironment.read(environment()) == ServiceEnvironment("@manager", 60_000_000, "8:1234")
    monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()))
    assert ServiceEnvironment.read(environment()).watchdog_usec == 60_000_000
    for name, value in (("WATCHDOG_PID", "1"), ("WATCHDOG_USEC", "0"), ("WATCHDOG_USEC", "often")):
        with monkeypatch.context() as given:
            given.setenv("WATCHDOG_USEC", "60000000")
            given.setenv(name, value)
            assert ServiceEnvironment.read(environment()).watchdog_usec is None, (name, value)


def test_what_is_no_name_of_a_host_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOUL_HTTP_NAMES", "Soul.Example.com, soul-2")
    assert load_settings().http_names == ("soul.example.com", "soul-2")
    for name in ("https://soul.example.com", "soul.example.com:443", "a b", "-a", "*.example.com", "ä"):
        monkeypatch.setenv("SOUL_HTTP_NAMES", f"soul.example.com,{name}")
        with pytest.raises(ConfigError, match="SOUL_HTTP_NAMES"):
            load_settings()


def test_no_key_and_no_word_leaves_this_machine_in_clear_text(monkeypatch: pytest.MonkeyPatch) -> None:
    here = ("http://127.0.0.1:8/x/", "http://[::1]/x/", "http://localhost:8080/x/", "https://model.example/x/")
    abroad = ("http://model.example/x", "http://10.0.0.5/x", "HTTP://localhost.example", "http://[::1]@x.example/")
    vendors = ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "SOUL_OLLAMA_URL", "SOUL_GROQ_URL", "SOUL_TTS_URL")
    for name in ("SLACK_API_URL", *vendors):
        for address in here:
            monkeypatch.setenv(name, address)
            load_settings()
        for address in abroad:
            monkeypatch.setenv(name, address)
            with pytest.raises(ConfigError, match=f"{name} must "):
                load_settings()
        monkeypatch.delenv(name)
