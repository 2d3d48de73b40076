"""What is wrong is posted to the admin once until it heals: in the ops channel, else in direct messages."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from daemon import app as alarms
from daemon.cli.checks import failing_checks
from daemon.core.config import Settings
from daemon.core.tempo import QUIET_MS
from daemon.llm.resilience import FAILURES_TO_OPEN
from daemon.llm.router import build_llm
from daemon.local_slack.model import Json
from daemon.memory.retrieval.keeper import LEAST_ROOM
from tests.fakes import Events
from tests.given import tagged
from tests.journeys.house import House
from tests.journeys.souls import write_soul
from tests.journeys.two_vendors import FIRST, SECOND, two_vendors
from tests.llm.providers import KEY, Answer

DISK = "The disk that holds the data is nearly full"
MINUTE = 61.0
LONGEST_PAUSE = 31.0  # seconds between two tries to connect
LOST = 301.0  # seconds; a connection that is lost so long is an alarm
QUIET = QUIET_MS / 1000 + 1
SECRET = "my raise is a secret"


class PretendMachine:
    """What the daemon's own looks at the machine find."""

    def __init__(self) -> None:
        self.free = 10 * LEAST_ROOM
        self.failing: tuple[str, ...] = ()

    def free_bytes(self, _folder: Path) -> int:
        return self.free

    def checks(self, _settings: Settings) -> Sequence[str]:
        return self.failing


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> PretendMachine:
    machine = PretendMachine()
    monkeypatch.setattr(alarms, "free_bytes", machine.free_bytes)
    return machine


@pytest.fixture
async def ops(empty_house: House, machine: PretendMachine) -> House:
    """A house with an ops channel, in which the soul is; Ada is its admin. No daemon runs yet."""
    empty_house.doctor = machine.checks
    room = await empty_house.people.add_channel("ops", members=["Ada"])
    empty_house.settings = empty_house.settings.model_copy(update={"ops_channel": room["id"], "admins": ("U0ADA",)})
    return empty_house


async def look(house: House, seconds: float = MINUTE) -> None:
    """Turn the clock until a daemon has looked at everything, twice: the first look may have begun before."""
    for turned in (seconds, MINUTE):
        house.clock.turn(turned)
        done = "SELECT 1 FROM duties WHERE name LIKE 'alarms%' AND lease_owner = '' AND due_ms > ?"
        await house.row(done, house.clock.now_ms())
        await house.idle()


async def heal(house: House) -> None:
    """Turn the clock until all has healed: a daemon may have looked just before what was wrong was mended."""
    while await known(house):
        await look(house, QUIET)


async def known(house: House) -> list[str]:
    return [row["name"] for row in await house.rows("SELECT name FROM alarms ORDER BY name")]


async def test_a_full_disk_is_announced_once_until_it_heals(ops: House, machine: PretendMachine) -> None:
    await ops.start()
    await look(ops)
    assert await ops.replies("ops") == []
    machine.free = LEAST_ROOM - 1
    for _ in range(3):
        await look(ops)
    (post,) = await ops.replies("ops")
    assert DISK in post
    machine.free = 10 * LEAST_ROOM
    await look(ops)
    assert len(await ops.replies("ops")) == 1, "it may come back within ten minutes"
    machine.free = LEAST_ROOM - 1
    await look(ops)
    await look(ops, QUIET)
    assert len(await ops.replies("ops")) == 1, "it did"
    machine.free = 10 * LEAST_ROOM
    await heal(ops)
    assert (await ops.replies("ops"))[1].startswith("✓ Healed after ")
    assert (await ops.replies("ops"))[1].endswith(": the disk.")
    assert await known(ops) == []
    machine.free = LEAST_ROOM - 1
    await look(ops)
    assert len(await ops.replies("ops")) == 3, "a new one comes anew"


async def test_a_restart_heals_nothing_and_two_daemons_announce_it_once(ops: House, machine: PretendMachine) -> None:
    machine.free = 0
    await ops.start()
    await look(ops)
    assert DISK in (await ops.replies("ops"))[0]
    await ops.stop()
    ops.clock.turn(QUIET)
    machine.free = 10 * LEAST_ROOM
    await ops.start()
    await look(ops)
    assert len(await ops.replies("ops")) == 1
    machine.free = 0
    write_soul(ops.settings.home)
    await ops.start(name="tess")
    await look(ops)
    assert len(await ops.replies("ops")) == 1
    machine.free = 10 * LEAST_ROOM
    await heal(ops)
    await look(ops)
    assert len(await ops.replies("ops")) == 2


async def test_home_and_status_show_it_and_it_waits_until_slack_is_back(ops: House, machine: PretendMachine) -> None:
    await ops.start()
    await ops.people.fault("conversations.info", status=503, times=1_000)
    machine.free = 0
    await look(ops)
    assert await known(ops) == ["disk"]
    assert DISK in await ops.command("status")
    assert '"name": "disk"' in await ops.command("status", "--json")
    assert DISK in await ops.command("doctor", "--offline", fails=False)
    assert DISK in str((await ops.events.until("alarm.raised"))["says"])
    assert await ops.replies("ops") == []
    await ops.people.clear_faults()
    await look(ops)
    assert len(await ops.replies("ops")) == 1

    async def shows() -> Json | None:
        view = (await ops.people.get("home", person="Ada"))["view"]
        return view if view and DISK in str(view) else None

    await ops.people.post("open_home", person="Ada")
    await ops.until(shows)


async def test_where_the_ops_channel_is_lost_the_admins_hear_it(ops: House, machine: PretendMachine) -> None:
    await ops.start()
    await ops.noticed(ops.people.leave("U0SOUL", "ops"))
    machine.free = 0
    await look(ops)
    (post,) = await ops.replies("D0ADA")
    assert DISK in post
    assert "SOUL_OPS_CHANNEL takes no posts" in post
    await look(ops)
    assert len(await ops.replies("D0ADA")) == 1
    await ops.noticed(ops.people.join("U0SOUL", "ops"))
    while "ops" in await known(ops):
        await look(ops, QUIET)
    assert (await ops.replies("D0ADA"))[1].endswith(": the ops channel.")
    assert not any(DISK in one for one in await ops.replies("ops")), "a post is not repeated elsewhere"


async def test_many_are_one_post_which_goes_to_the_admins_if_refused(ops: House, machine: PretendMachine) -> None:
    machine.failing = tuple(f"part {number}" for number in range(25))
    await ops.start()
    await look(ops)
    (post,) = await ops.replies("ops")
    assert post.startswith("⚠ Several things are wrong:")
    assert "`soul doctor` fails at part 0" in post
    assert "and 15 more: `soul status` lists them" in post
    assert len(await known(ops)) == 25
    await ops.people.fault(room="ops", posting="restricted_action")
    machine.free = 0
    await look(ops)
    assert len(await ops.replies("ops")) == 1
    post = "\n".join(await ops.replies("D0ADA"))
    assert post.count(DISK) == 1
    assert "SOUL_OPS_CHANNEL takes no posts" in post
    assert "dead:queue outbox" not in await known(ops), "a post of ours that is refused is the channel's fault"


async def test_without_a_channel_admins_hear_it_and_without_them_it_shows(ops: House, machine: PretendMachine) -> None:
    machine.free = 0
    await ops.start(ops_channel="", admins=())
    await look(ops)
    assert await known(ops) == ["disk"]
    machine.free = 10 * LEAST_ROOM
    await heal(ops)
    assert await known(ops) == []
    assert not await ops.rows("SELECT 1 FROM outbox")
    machine.free = 0
    await ops.restart(ops_channel="", admins=("U0ADA", "U0NOBODY"))
    await look(ops)
    assert DISK in (await ops.replies("D0ADA"))[0]
    assert await ops.replies("general") == []


async def test_what_was_given_up_is_announced_without_anybodys_words_and_a_revoked_token_at_once(ops: House) -> None:
    await ops.start()
    await ops.people.fault(room="general", posting="restricted_action")
    ops.model.replies.append(tagged("I can't say that."))
    ts = await ops.say("Ben", "general", f"@soul {SECRET}")
    await ops.final_state(ts)
    await ops.idle()
    await look(ops)
    (post,) = await ops.replies("ops")
    assert "`soul queue outbox list --state dead`" in post
    assert SECRET not in post
    assert "I can't say that" not in post
    await ops.people.clear_faults()
    keys = [row["id"] for row in await ops.rows("SELECT id FROM outbox WHERE state = 'dead'")]
    for key in keys:
        await ops.command("queue", "outbox", "drop", key)
    await heal(ops)
    assert (await ops.replies("ops"))[1].endswith(": given up: queue outbox.")
    await ops.people.emit({"type": "tokens_revoked", "tokens": {"oauth": [], "bot": ["U0SOUL"]}})
    await ops.events.until("slack.revoked")
    await look(ops)
    assert "A daemon is not connected to Slack" in (await ops.replies("ops"))[-1]
    assert await known(ops) == ["slack"]


async def test_a_model_that_is_down_is_announced_while_another_answers(ops: House) -> None:
    down = Answer(status=529, kind="overloaded_error", message="Overloaded", headers={"retry-after": "60"})
    async with AsyncExitStack() as stack:
        vendors = await stack.enter_async_context(two_vendors())
        vendors.claude.usual, vendors.gpt.usual = down, Answer((tagged("The other one here."),))
        served = vendors.settings | {"persona_standby": SECOND, "standby_dm": ("openai",)}
        llm = build_llm(ops.settings.model_copy(update=served), ops.clock, Events())
        stack.push_async_callback(llm.aclose)
        await ops.start(llm)
        for number in range(FAILURES_TO_OPEN + 1):
            await ops.answered("Ada", "dm", f"hello {number}")
        await look(ops)
        (post,) = await ops.replies("ops")
        assert f"The model {FIRST} does not answer" in post
        assert KEY not in post
        await ops.stop()


async def cut_off(house: House) -> None:
    """Slack closes the daemon's socket, and opens no other."""
    lost = len(house.events.named("slack.lost"))
    await house.people.fault("apps.connections.open", status=503, times=1_000_000)
    await house.people.fault(socket="close")
    await house.events.until("slack.lost", lost + 1)


async def until_connected(house: House) -> None:
    """End the faults, and turn the clock past the pause before each try until the daemon hears Slack again."""
    await house.people.clear_faults()
    healthy = house.built.channels.main.healthy
    while not healthy():
        tries = len(await house.people.calls("apps.connections.open"))
        house.clock.turn(LONGEST_PAUSE)

        async def tried(before: int = tries) -> bool:
            return healthy() or len(await house.people.calls("apps.connections.open")) > before

        await house.when(tried)


async def test_a_connection_lost_for_five_minutes_is_announced_by_the_web_api_once_until_it_heals(ops: House) -> None:
    await ops.start()
    await cut_off(ops)
    await look(ops)
    await until_connected(ops)
    await look(ops, LOST)
    assert await known(ops) == [], "it was back within five minutes"
    await cut_off(ops)
    await look(ops)
    assert (await known(ops), await ops.replies("ops")) == ([], []), "it may be back within five minutes"
    await look(ops, LOST)
    (post,) = await ops.replies("ops")
    assert "A daemon is not connected to Slack" in post
    assert await known(ops) == ["slack"]
    await look(ops)
    assert len(await ops.replies("ops")) == 1
    await until_connected(ops)
    await heal(ops)
    assert (await ops.replies("ops"))[1].endswith(": the connection to Slack.")
    assert await ops.replies("D0ADA") == []


async def test_the_checks_of_the_doctor_are_looked_at_while_it_runs(ops: House) -> None:
    ops.doctor = failing_checks
    await ops.start(mcp_servers=None)
    await look(ops)
    assert await ops.replies("ops") == []
    broken = ops.settings.model_copy(update={"persona_model": "anthropic/claude-sonnet-5-5"})
    assert failing_checks(broken) == ("models",)
