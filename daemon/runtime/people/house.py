"""What admins alone see on their home page: connection, queues, money, the last days, and what needs them."""

from typing import Final

from daemon.core.alarms import sentence_of
from daemon.core.bars import bar_line
from daemon.core.home import HomeItem, HomeSection
from daemon.core.spending import PaidBy
from daemon.core.text import one_line, shortened
from daemon.runtime.cycle_state import Cycle

_DAY_MS: Final = 86_400_000
_DAYS: Final = 14
_MOST: Final = 10  # alarms
_MODELS: Final = 5


async def house_section(cycle: Cycle) -> HomeSection:
    """The section for admins. Raises StoreError."""
    services, say = cycle.services, cycle.words.say
    things = services.capabilities.own_things
    house = await things.house(services.clock.now_ms() - _DAY_MS)
    lines = [
        say("home_connected" if services.channels.main.healthy() else "home_unconnected", daemons=house.daemons),
        say("home_queue", waiting=house.waiting, to_send=house.to_send),
        say("home_spent", usd=f"{house.cost_usd:.2f}", calls=house.calls, failed=house.failed),
        *await _money(cycle),
        await _days(cycle),
    ]
    alarms = [f":warning: {services.channels.main.trouble()}"] if services.channels.main.trouble() else []
    alarms += [f":warning: {say('home_dead', dead=house.dead)}"] if house.dead else []
    alarms += [f":warning: {sentence_of(one)}" for one in (await things.alarms())[:_MOST]]
    return HomeSection(say("home_house"), tuple(map(HomeItem, (*lines, *(alarms or [say("home_no_alarm")])))))


async def _money(cycle: Cycle) -> list[str]:
    """What is left of the soul's cap today, and the models that cost most in the last 24 hours."""
    services, say = cycle.services, cycle.words.say
    till, things = services.till, services.capabilities.own_things
    caps, lines = till.terms.caps().known, list[str]()
    if (cap := caps.pop(PaidBy.SOUL, None)) is not None:
        spent = await things.spent(till.day().date)
        lines.append(say("home_left", left=f"{spent.left_of(cap):.2f}", cap=f"{cap:g}"))
    for paid_by, usd in caps.items():
        lines.append(say("home_cap_person" if paid_by is PaidBy.PERSON else "home_cap_room", cap=f"{usd:g}"))
    models = await things.costs("model", services.clock.now_ms() - _DAY_MS)
    if models:
        named = [f"{shortened(one_line(one.key), 60)} ${one.cost_usd:.2f}" for one in models[:_MODELS]]
        lines.append(say("home_by_model", models=", ".join(named)))
    return lines


async def _days(cycle: Cycle) -> str:
    """A curve of the last days each, oldest first."""
    services, say = cycle.services, cycle.words.say
    now = services.clock.now_ms()
    days = [services.till.day(now - back * _DAY_MS) for back in reversed(range(_DAYS))]
    found = await services.capabilities.own_things.days(days)
    curves = (
        ("home_days_heard", [float(one.heard) for one in found], "{:.0f}"),
        ("home_days_answered", [float(one.answered) for one in found], "{:.0f}"),
        ("home_days_wait", [one.wait_s for one in found], "{:.0f}"),
        ("home_days_cost", [one.cost_usd for one in found], "{:.2f}"),
    )
    lines = [
        say(key, bars=bar_line(numbers), today=form.format(numbers[-1]), most=form.format(max(numbers)))
        for key, numbers, form in curves
    ]
    return "\n".join((say("home_days", days=_DAYS), *lines))
