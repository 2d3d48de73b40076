"""Takes the pictures of the documents in a real browser: a workspace, and a person's first days with a soul."""

import asyncio
import sys
import tempfile
from pathlib import Path

from playwright.async_api import Browser, Page, ViewportSize, expect
from pydantic import SecretStr

sys.path.insert(0, str(Path(__file__).parent.parent))

from daemon.local_slack.server import serve_workspace
from tests.fakes import TurnableClock
from tests.http.daemons import TOKEN
from tests.journeys.asking import WORDS, AskedSession, question
from tests.journeys.house import House, settings_for
from tests.journeys.problems import press
from tests.page import day, promised, week
from tests.page.journey import begun
from tests.page.lines import Lines
from tests.page.lines_english import ENGLISH
from tests.page.lines_german import GERMAN
from tests.page.manual_app import FEEDBACK, ManualApp
from tests.page.window import Window, launched
from tests.workspace_client import WorkspaceClient

IMAGES = Path(__file__).parent.parent / "docs" / "images"
SIZE: ViewportSize = {"width": 1180, "height": 740}
PHONE: ViewportSize = {"width": 390, "height": 760}
LARGEST = 200_000  # bytes per picture
SMALL: ViewportSize = {"width": 1000, "height": 640}
KEPT = {  # of the journey, by language
    "en": ("returning", "modes", "plan", "sources", "permission", "second-soul"),
    "de": ("permission",),
}

KEPT_OF_MEMORY = ("remembered", "corrected", "forgotten")
KEPT_OF_MIND = ("kept",)
KEPT_OF_TEAM = ("invited", "asked", "home", "digest")

MORNING = """\
Good morning, Ada. Three things from yesterday:

1. The **import** ran through: 18,204 rows, none refused.
2. Ben asked for the new report *before* Thursday's call.
3. You wanted to think again about the name `archive_later`.

Shall we begin with the report?"""
REPORT = """\
Then let's keep it short. This is what I would send:

| Week | Signups | Stayed |
|:-----|--------:|-------:|
| 45   |     312 |   71 % |
| 46   |     368 |   74 % |

> Growth is steady, and people stay a little longer each week.

I can draft the sentence for Ben, too. One mom"""
PLAN = """\
Here is how I would cut over:

- freeze writes at **18:00**, when traffic is lowest
- copy, then compare the row counts:

```sql
SELECT count(*) FROM events WHERE day >= '2026-01-01';
```

- switch the readers first; the writers follow when Chloe agrees"""

ANSWER_OF_SESSION = """\
It is `0042_tenants`: it renames `tenant_id` to `workspace_id` in `orders` and `invoices`, \
and leaves a view of the old name for a week."""


async def dm(people: WorkspaceClient, soul: ManualApp) -> None:
    """Ada talks with the soul; the second reply is still streaming."""
    first = await people.say("ada", "dm", "Good morning! What did I leave unfinished?")
    answer = await soul.start(first, MORNING)
    await soul.finish(first, answer)
    second = await people.say("ada", "dm", "Yes, the report. Two weeks, nothing fancy.")
    await soul.start(second, REPORT)


async def channel(people: WorkspaceClient, soul: ManualApp) -> str:
    """A question in a channel and the reply in its thread; gives the thread's ts."""
    await people.join("gus", "general")  # guests are in no channel by themselves
    await people.say("ben", "general", "The release is out. Thanks, everybody! 🎉")
    party = await people.say("chloe", "general", "It even works on my old phone.")
    for person in ("ada", "ben", "gus"):
        await people.react(person, "general", party["ts"], "tada")
    await people.react("ben", "general", party["ts"], "heart")
    asked = await people.say("ada", "general", "@Soul how would you move the events table without a night shift?")
    await soul.api.chat_postMessage(
        channel=asked["channel"],
        thread_ts=asked["ts"],
        text=PLAN,
        blocks=[{"type": "markdown", "text": PLAN}, FEEDBACK],
    )
    await people.say("ben", "general", "18:00 suits me. I'll watch the graphs.", thread=asked["ts"])
    await people.say("chloe", "general", "Agreed, readers first.", thread=asked["ts"])
    await people.say("gus", "general", "Lunch at the harbour, anybody?")
    await people.say("ben", "founders", "Numbers for Thursday are in.")
    await people.say("chloe", "random", "Look at this cat.")
    return str(asked["ts"])


async def shoot(
    browser: Browser,
    url: str,
    path: Path,
    view: str,
    *,
    size: ViewportSize = SIZE,
    dark: bool = False,
    person: str = "U0ADA",
    zone: str = "UTC",
) -> None:
    """Take one picture of a person's window, whose clock shows the time of a zone."""
    context = await browser.new_context(
        viewport=size,
        color_scheme="dark" if dark else "light",
        locale="en-GB",
        timezone_id=zone,
        reduced_motion="reduce",
        has_touch=size is PHONE,
    )
    window = await Window(await context.new_page()).watch().open(url, person, view)
    await expect(window.timeline.locator(".message").first).to_be_visible()
    await window.page.mouse.move(size["width"] - 2, 2)
    await keep(window.page, path)
    await context.close()


async def keep(page: Page, path: Path) -> None:
    """Write what a page shows to a file."""
    picture = await page.screenshot(path=path)
    print(f"{path}: {len(picture) // 1000} kB")
    if len(picture) > LARGEST:
        raise SystemExit(f"{path} is larger than {LARGEST // 1000} kB")


async def workspace(browser: Browser) -> None:
    """The scenes in which this script writes the soul's replies."""
    async with serve_workspace() as server, WorkspaceClient(server.page_url) as people:
        soul = await ManualApp(server, people).connect()
        await people.wait_for_sockets(1)
        thread = await channel(people, soul)
        await dm(people, soul)
        await shoot(browser, server.page_url, IMAGES / "workspace-dm.png", "D0ADA")
        await shoot(browser, server.page_url, IMAGES / "workspace-thread.png", f"C0GENERAL/{thread}")
        await shoot(browser, server.page_url, IMAGES / "workspace-dark.png", "D0ADA", dark=True)
        if "--phone" in sys.argv:
            await shoot(browser, server.page_url, IMAGES / "workspace-phone.png", "D0ADA", size=PHONE)
        await soul.close()


async def engine(browser: Browser, home: Path, lines: Lines, *, every: Path | None) -> None:
    """The journey of tests/page/journey.py in one language; prints its `soul mind trace` at the end."""
    language = lines.locale[:2]
    ending = "" if language == "en" else f"-{language}"

    async def open_window(url: str, person: str, view: str) -> Window:
        context = await browser.new_context(viewport=SIZE, locale="en-GB")
        return await Window(await context.new_page()).watch().open(url, person, view)

    async def look(name: str, view: str) -> None:
        if every is not None or name in KEPT[language]:
            path = (every or IMAGES) / f"engine-{name}{ending}.png"
            await shoot(
                browser,
                journey.daemon.page_url,
                path,
                view,
                size=SMALL,
                person=journey.person,
                zone=lines.zone or "UTC",
            )

    async with begun(home, lines, open_window, look) as journey:
        await journey.greets_and_welcomes_back()
        await journey.turns_poet_and_scholar()
        await journey.solves_a_problem()
        await journey.asks_for_permission()
        await journey.meets_a_second_soul()
        await journey.is_reminded()
        await journey.daemon.at_rest()
        print(await journey.daemon.soul("mind", "trace", journey.dm))
        await journey.window.page.context.close()


async def memory(browser: Browser, home: Path, *, every: Path | None) -> None:
    """The week of tests/page/week.py."""

    async def open_window(url: str, person: str, view: str) -> Window:
        context = await browser.new_context(viewport=SIZE, locale="en-GB", timezone_id="UTC")
        return await Window(await context.new_page()).watch().open(url, person, view)

    async def look(name: str, view: str) -> None:
        if every is not None or name in KEPT_OF_MEMORY:
            await shoot(browser, talk.daemon.page_url, (every or IMAGES) / f"memory-{name}.png", view, size=SMALL)

    async with week.begun(home, open_window, look) as talk:
        await talk.gets_to_know_her()
        await talk.is_shown_a_picture()
        await talk.tells_what_it_knows()
        await talk.forgets_her()
        await talk.window.page.context.close()


async def mind(browser: Browser, home: Path, *, every: Path | None) -> None:
    """The promise of tests/page/promised.py."""

    async def open_window(url: str, person: str, view: str) -> Window:
        context = await browser.new_context(viewport=SIZE, locale="en-GB", timezone_id="UTC")
        return await Window(await context.new_page()).watch().open(url, person, view)

    async def look(name: str, view: str) -> None:
        if every is not None or name in KEPT_OF_MIND:
            await shoot(browser, talk.daemon.page_url, (every or IMAGES) / f"mind-{name}.png", view, size=SMALL)

    async with promised.begun(home, open_window, look) as talk:
        await talk.promises()
        await talk.keeps_it()
        await talk.window.page.context.close()


async def team(browser: Browser, home: Path, *, every: Path | None) -> None:
    """The day of tests/page/day.py, as each of the team sees it in their own window."""

    async def open_window(url: str, person: str, view: str) -> Window:
        context = await browser.new_context(
            viewport=SMALL, locale="en-GB", timezone_id="Europe/Athens", reduced_motion="reduce"
        )
        return await Window(await context.new_page()).watch().open(url, person, view)

    async def look(name: str, person: str) -> None:
        if every is not None or name in KEPT_OF_TEAM:
            page = team_day.windows[person].page
            await page.mouse.move(SMALL["width"] - 2, 2)
            await keep(page, (every or IMAGES) / f"team-{name}.png")

    async with day.begun(home, open_window, look) as team_day:
        await team_day.is_lived()
        for window in team_day.windows.values():
            await window.page.context.close()


async def sessions(browser: Browser, home: Path) -> None:
    """Ben asks Ada's session of Claude Code in a thread; she allows it in a direct message, and the answer is there."""
    async with (
        serve_workspace(clock=(clock := TurnableClock())) as server,
        WorkspaceClient(server.page_url) as people,
    ):
        house = House(server, people, clock, settings_for(server, home))
        daemon = await house.start(http_token=SecretStr(TOKEN), http_port=0)
        assert daemon.http is not None
        session = await AskedSession.begun(house, home, daemon.http.url)
        thread = await house.say("Ben", "general", f"@soul ask ada-api: {WORDS}")
        asked = await question(house)
        await shoot(browser, server.page_url, IMAGES / "session-asked.png", "D0ADA", size=SMALL)
        await press(house, "Ada", "D0ADA", asked)
        await house.reply("general", "It is allowed")
        await session.ends_turn()
        await session.goes_on(ANSWER_OF_SESSION)
        await house.reply("general", "0042_tenants")
        await house.idle()
        view = f"C0GENERAL/{thread}"
        await shoot(browser, server.page_url, IMAGES / "session-answered.png", view, size=SMALL, person="U0BEN")
        await house.close()


async def main() -> None:
    """Take all pictures; `--engine` takes only those of the journey, `--memory` those of the week, `--mind` those
    of a promise, `--sessions` those of a session that is asked, `--team` those of a day in a team, `--phone` adds one
    of a phone's width.

    `--every FOLDER` takes a picture of each step of journey and week instead, to be looked at.
    """
    IMAGES.mkdir(parents=True, exist_ok=True)
    every = Path(sys.argv[sys.argv.index("--every") + 1]) if "--every" in sys.argv else None
    with tempfile.TemporaryDirectory() as profile:
        async with launched(Path(profile)) as browser:
            part = next(
                (name for name in ("--engine", "--memory", "--mind", "--sessions", "--team") if name in sys.argv), ""
            )
            if not part and every is None:
                await workspace(browser)
            if part in ("", "--sessions") and every is None:
                with tempfile.TemporaryDirectory() as home:
                    await sessions(browser, Path(home))
            for lines in (ENGLISH, GERMAN) if part in ("", "--engine") else ():
                with tempfile.TemporaryDirectory() as home:
                    await engine(browser, Path(home), lines, every=every)
            if part in ("", "--memory"):
                with tempfile.TemporaryDirectory() as home:
                    await memory(browser, Path(home), every=every)
            if part in ("", "--mind"):
                with tempfile.TemporaryDirectory() as home:
                    await mind(browser, Path(home), every=every)
            if part in ("", "--team"):
                with tempfile.TemporaryDirectory() as home:
                    await team(browser, Path(home), every=every)


if __name__ == "__main__":
    asyncio.run(main())
