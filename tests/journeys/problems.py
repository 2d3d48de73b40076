"""For journeys about hard problems: a soul that may solve them, scripted choices, and presses of buttons."""

import json
import sys
from pathlib import Path
from typing import Any

from daemon.local_slack.model import Json
from tests.given import wanting
from tests.journeys.house import House
from tests.journeys.souls import write_soul
from tests.tools.parts import ROOT, listing

PLAIN = {
    "command": sys.executable,
    "args": ["-S", "-E", str(ROOT / "tests/tools/plain.py")],
    "trust_annotations": True,
}
PROBLEM = "please find out why the kiln cracks"
SHELF = "shelf/write_down"
YES, NO = "soul_approval_yes", "soul_approval_no"


async def solver(house: House, ism: str = "", contacts: str = "", modes: tuple[str, ...] = (), **settings: Any) -> None:  # noqa: ANN401  # any setting
    """Start Tess, who solves problems, has no background jobs, and without other sources a folder for everybody."""
    more = f"subprocesses = []\n[ism]\nenabled = true\n{ism}\n{contacts}"
    write_soul(house.settings.home, more=more, modes=dict.fromkeys(modes, ""))
    if settings.keys() & {"library", "mcp_servers"}:
        await house.start(name="tess", **settings)
        return
    looms = house.settings.home / "looms"
    looms.mkdir(exist_ok=True)
    (looms / "looms.md").write_text("# Looms\n\nLooms squeak.\n", encoding="utf-8")
    await house.start(name="tess", library_public=(looms,), **settings)
    await indexed(house, 1)


async def reader(house: House, **settings: Any) -> None:  # noqa: ANN401  # any setting
    """Start Tess, who has no background jobs, with what the settings say of her autonomous work."""
    write_soul(house.settings.home, more="subprocesses = []")
    await house.start(name="tess", **settings)


def script(house: House, *choices: str, enters: bool = True, **steps: str) -> None:
    """Script the choices of the model and its answers in other steps, after an answer that calls for research."""
    if enters:
        house.model.steps["respond"].append(wanting("research"))
    house.model.steps["choose_actions"].extend(choices)
    for step, answer in steps.items():
        house.model.steps[step].append(answer)


def goes_on(house: House, *, answers: bool = True) -> None:
    """Script whether the next message answers the question for which a problem is parked."""
    house.model.steps["mental_query"].append(json.dumps({"holds": answers}))


def shelf(folder: Path, **entry: object) -> Path:
    """A list with one server, whose tools read and write; `entry` holds further fields."""
    return listing(folder, shelf=PLAIN | entry)


def using(tool: str, **arguments: object) -> str:
    """The choice of a tool as a model writes it."""
    return json.dumps({"tool": tool, "arguments": arguments})


def lines(path: Path) -> int:
    """How often the writing tool was used on a file."""
    return len(path.read_text(encoding="utf-8").splitlines()) if path.exists() else 0


async def asked(house: House, room: str = "D0ADA") -> Json:
    """Wait for a question for approval; gives its message."""
    post = await house.reply(room, "May I?")
    await house.idle()
    return post


def buttons(post: Json) -> list[str]:
    """The action ids of the buttons under a message."""
    return [one["action_id"] for block in post["blocks"] or [] for one in block.get("elements", [])]


def cards(post: Json) -> list[Json]:
    """The cards under a message."""
    return [one for one in post.get("chunks", ()) if one["type"] == "task_update"]


async def approval(house: House, state: str = "") -> str:
    """The id of the newest approval, once it is in this state."""

    async def there() -> bool:
        rows = await house.rows("SELECT state FROM approvals ORDER BY created_ms DESC, rowid DESC")
        return bool(rows) and (not state or rows[0]["state"] == state)

    await house.when(there)
    return str((await house.one("SELECT id FROM approvals ORDER BY created_ms DESC, rowid DESC"))["id"])


async def forged(house: House, person: str, room: str, *, ts: str, value: str, action: str = "") -> str:
    """Press a button in a way that no Slack client does; gives the outcome."""
    before = len(_presses(house))
    house_ts, action = house.ts(), action or (NO if value.startswith("refuse:") else YES)
    payload = {
        "type": "block_actions",
        "user": {"id": await house.person(person), "team_id": "T0LOCAL"},
        "team": {"id": "T0LOCAL"},
        "channel": {"id": room},
        "container": {"type": "message", "message_ts": ts, "channel_id": room},
        "actions": [{"type": "button", "action_id": action, "value": value, "action_ts": house_ts}],
    }
    envelope = {"type": "interactive", "envelope_id": f"forged-{house_ts}", "payload": payload}
    assert await house.people.emit_envelope(envelope)
    return await _outcome(house, before)


async def press(house: House, person: str, room: str, ts: str, action: str = YES) -> str:
    """Press a button; gives the outcome."""
    before = len(_presses(house))
    assert await house.people.click(person, room, ts, action)
    return await _outcome(house, before)


def _presses(house: House) -> list[str]:
    """The outcome of every press so far."""
    return [
        event
        for event, fields in house.events.emitted
        if event.startswith("inbox.") and fields.get("kind") == "Decision"
    ]


async def _outcome(house: House, before: int) -> str:
    async def decided() -> bool:
        return len(_presses(house)) > before

    await house.when(decided)
    return _presses(house)[-1].removeprefix("inbox.")


async def posted(house: House) -> str:
    """All arguments of all Web API calls, as one text."""
    return json.dumps([call["args"] for call in await house.people.calls()], ensure_ascii=False)


async def parked(house: House, channel: str = "D0ADA") -> bool:
    """Whether the conversation in a channel waits in problem solving for an answer."""
    row = await house.one("SELECT process, process_memory FROM conversations WHERE channel = ?", channel)
    return (row["process"], bool(json.loads(row["process_memory"]))) == ("problem_solving", True)


async def indexed(house: House, files: int) -> None:
    """Wait until so many files of the library are indexed."""
    await house.row("SELECT 1 WHERE (SELECT count(*) FROM library_files WHERE stamp <> '') >= ?", files)
