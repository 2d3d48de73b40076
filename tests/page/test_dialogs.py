"""Dialogs, commands and questions before a button on the page, as Slack shows them; what was typed reaches the app."""

from typing import Any

import pytest
from playwright.async_api import Locator, expect
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_bolt.context.respond.async_respond import AsyncRespond
from slack_sdk.errors import SlackApiError

from daemon.local_slack.client import WorkspaceClient
from daemon.local_slack.server import WorkspaceServer
from tests.page.conftest import OpenWindow
from tests.page.manual_app import Json, ManualApp

pytestmark = pytest.mark.asyncio(loop_scope="session")

COLOURS = ("red", "blue", "green")


def words(text: str) -> Json:
    return {"type": "plain_text", "text": text}


def asked(name: str, element: Json, **more: object) -> Json:
    return {
        "type": "input",
        "block_id": name,
        "label": words(f"Your {name}"),
        "element": element | {"action_id": name},
        **more,
    }


def choices(kind: str, **more: object) -> Json:
    return {"type": kind, "options": [{"text": words(one.title()), "value": one} for one in COLOURS], **more}


def dialog(*blocks: Json, title: str = "Order") -> Json:
    labels = {"title": words(title), "submit": words("Send"), "close": words("Never mind")}
    return {"type": "modal", "callback_id": "order", **labels, "blocks": list(blocks)}


ORDER = dialog(
    {"type": "section", "text": {"type": "mrkdwn", "text": "For the *whole* team."}},
    asked("name", {"type": "plain_text_input", "multiline": True, "min_length": 3, "max_length": 20}),
    asked("size", choices("static_select")),
    asked("colour", choices("radio_buttons", initial_option={"text": words("Blue"), "value": "blue"})),
    asked("extras", choices("checkboxes"), optional=True, hint=words("As many as you like")),
)


async def opened(server: WorkspaceServer, soul: ManualApp, view: Json = ORDER) -> str:
    """Open a dialog for Ada; gives its id."""
    trigger = server.workspace.interactions.new_trigger("U0ADA")
    return str((await soul.api.views_open(trigger_id=trigger, view=view))["view"]["id"])


async def fill(shown: Locator) -> None:
    await shown.get_by_label("Your name").fill("a lamp")
    await shown.get_by_label("Your size").select_option("red")
    await shown.get_by_label("Green").last.check()


async def test_a_dialog_takes_text_and_choices_and_what_was_typed_reaches_the_app_once(
    server: WorkspaceServer, people: WorkspaceClient, soul: ManualApp, new_window: OpenWindow
) -> None:
    ada = await new_window(server.page_url, "U0ADA")
    ben = await new_window(server.page_url, "U0BEN")
    await opened(server, soul)
    shown = ada.page.get_by_role("dialog", name="Order")
    await expect(shown).to_contain_text("For the whole team.")
    await expect(shown).to_contain_text("As many as you like")
    await expect(ben.page.get_by_role("dialog", name="Order")).to_have_count(0)
    await shown.get_by_role("button", name="Send").click()
    await expect(shown.get_by_role("alert").filter(has_text="required field")).to_have_count(2)
    await fill(shown)
    await shown.get_by_role("button", name="Send").dblclick()
    await expect(shown).to_have_count(0)

    async def sent() -> list[Json]:
        return soul.dialogs

    [view] = await people.wait_for(sent)
    values: Any = {name: one for block in view["state"]["values"].values() for name, one in block.items()}
    assert values["name"]["value"] == "a lamp"
    assert values["size"]["selected_option"]["value"] == "red"
    assert values["colour"]["selected_option"]["value"] == "blue"
    assert [one["value"] for one in values["extras"]["selected_options"]] == ["green"]
    assert len([one for one in await people.deliveries() if one["event_type"] == "view_submission"]) == 1


async def test_errors_stand_below_their_input_and_what_was_typed_stays(
    server: WorkspaceServer, soul: ManualApp, new_window: OpenWindow
) -> None:
    ada = await new_window(server.page_url, "U0ADA")
    soul.answers = [{"response_action": "errors", "errors": {"name": "There is no such lamp."}}]
    await opened(server, soul)
    shown = ada.page.get_by_role("dialog", name="Order")
    await fill(shown)
    await shown.get_by_role("button", name="Send").click()
    await expect(shown.get_by_role("alert").filter(has_text="There is no such lamp.")).to_be_visible()
    await expect(shown.get_by_label("Your name")).to_have_value("a lamp")
    await expect(shown.get_by_label("Your name")).to_be_focused()
    await shown.get_by_label("Your name").fill("another lamp")
    await shown.get_by_role("button", name="Send").click()
    await expect(shown).to_have_count(0)


async def test_an_answer_or_an_update_shows_another_view_and_an_old_version_is_refused(
    server: WorkspaceServer, soul: ManualApp, new_window: OpenWindow
) -> None:
    ada = await new_window(server.page_url, "U0ADA")
    thanks = dialog({"type": "section", "text": words("It is on its way.")}, title="Thanks")
    soul.answers = [{"response_action": "update", "view": thanks}]
    view_id = await opened(server, soul)
    await fill(ada.page.get_by_role("dialog", name="Order"))
    await ada.page.get_by_role("button", name="Send").last.click()
    await expect(ada.page.get_by_role("dialog", name="Thanks")).to_contain_text("It is on its way.")
    later = dialog({"type": "section", "text": words("It is here.")}, title="Arrived")
    newer = await soul.api.views_update(view_id=view_id, view=later)
    await expect(ada.page.get_by_role("dialog", name="Arrived")).to_contain_text("It is here.")
    with pytest.raises(SlackApiError, match="hash_conflict"):
        await soul.api.views_update(view_id=view_id, view=thanks, hash="0.old")
    await soul.api.views_update(view_id=view_id, view=thanks, hash=newer["view"]["hash"])
    await expect(ada.page.get_by_role("dialog", name="Thanks")).to_be_visible()
    await ada.page.reload()
    await expect(ada.page.get_by_role("dialog", name="Thanks")).to_be_visible()
    await ada.page.get_by_role("button", name="Close the dialog").click()
    await expect(ada.page.get_by_role("dialog")).to_have_count(0)
    with pytest.raises(SlackApiError, match="not_found"):
        await soul.api.views_update(view_id=view_id, view=later)


async def test_a_dialog_is_closed_unsent_by_escape_and_an_answer_of_no_use_leaves_it_open(
    server: WorkspaceServer, people: WorkspaceClient, soul: ManualApp, new_window: OpenWindow
) -> None:
    ada = await new_window(server.page_url, "U0ADA")
    await opened(server, soul)
    await ada.page.get_by_role("dialog", name="Order").press("Escape")
    await expect(ada.page.get_by_role("dialog")).to_have_count(0)
    assert await people.modals("Ada") == []
    soul.answers = [{"response_action": "errors", "errors": {"nowhere": "No."}}]
    await opened(server, soul)
    shown = ada.page.get_by_role("dialog", name="Order")
    await fill(shown)
    await shown.get_by_role("button", name="Send").click()
    await expect(shown.get_by_role("alert").filter(has_text="We had some trouble connecting")).to_be_visible()
    assert len(await people.modals("Ada")) == 1


async def test_a_button_that_asks_first_is_pressed_only_after_a_yes(
    server: WorkspaceServer, people: WorkspaceClient, soul: ManualApp, new_window: OpenWindow
) -> None:
    ada = await new_window(server.page_url, "U0ADA")
    sure = {"title": words("Forget it?"), "text": words("It can't be undone."), "confirm": words("Yes")}
    button = {"type": "button", "action_id": "allow", "value": "all", "text": words("Forget")}
    blocks: Any = [{"type": "actions", "elements": [button | {"confirm": sure | {"deny": words("No")}}]}]
    await soul.api.chat_postEphemeral(channel="D0ADA", user="U0ADA", text="Shall I?", blocks=blocks)
    await ada.page.get_by_role("button", name="Forget", exact=True).click()
    asks = ada.page.get_by_role("dialog", name="Forget it?")
    await expect(asks).to_contain_text("It can't be undone.")
    await asks.get_by_role("button", name="No").click()
    await expect(asks).to_have_count(0)
    assert soul.clicks == []
    await ada.page.get_by_role("button", name="Forget", exact=True).click()
    await asks.get_by_role("button", name="Yes").click()

    async def pressed() -> list[tuple[str, str]]:
        return soul.clicks

    assert await people.wait_for(pressed) == [("U0ADA", "all")]


async def test_a_command_is_completed_typed_and_answered_to_its_user_alone(
    server: WorkspaceServer, people: WorkspaceClient, soul: ManualApp, new_window: OpenWindow
) -> None:
    heard: list[Json] = []

    async def answer(ack: AsyncAck, respond: AsyncRespond, command: Json) -> None:
        heard.append(command)
        await ack()
        await respond("I can tell the time.")

    soul.hear_commands("/minoan", answer)
    ada = await new_window(server.page_url, "U0ADA", "C0GENERAL")
    ben = await new_window(server.page_url, "U0BEN", "C0GENERAL")
    await ada.composer.press_sequentially("/mi")
    await expect(ada.page.get_by_role("option")).to_contain_text(["/minoan"])
    await ada.composer.press("Enter")
    await expect(ada.composer).to_have_value("/minoan ")
    await ada.composer.press_sequentially("help")
    await ada.composer.press("Enter")
    await expect(ada.page.locator(".message.ephemeral")).to_contain_text("I can tell the time.")
    await expect(ben.page.locator(".message.ephemeral")).to_have_count(0)
    assert (heard[0]["command"], heard[0]["text"], heard[0]["channel_id"]) == ("/minoan", "help", "C0GENERAL")
    await ada.composer.fill("/nothing at all")
    await ada.composer.press("Enter")
    await expect(ada.page.get_by_text("/nothing is not a valid command")).to_be_visible()
    await expect(ada.composer).to_have_value("/nothing at all")
    assert await people.messages("general") == []
    root = await people.say("Ada", "general", "a thread")
    await ada.page.goto(f"{server.url}/?as=U0ADA#/C0GENERAL/{root['ts']}")
    await ada.reply_box.fill("/minoan help")
    await ada.reply_box.press("Enter")
    await expect(ada.page.get_by_text("/minoan is not supported in threads")).to_be_visible()
    assert len(heard) == 1
