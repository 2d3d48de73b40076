"""Dialogs, commands and questions before a button on the page, as Slack shows them; what was typed reaches the app."""

from typing import Any

import pytest
from playwright.async_api import Locator, expect
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_bolt.context.respond.async_respond import AsyncRespond
from slack_sdk.errors import SlackApiError

from tests.page.conftest import PageStage
from tests.page.manual_app import Json

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


async def opened(on: PageStage, view: Json = ORDER) -> str:
    """Open a dialog for Ada; gives its id."""
    trigger = on.server.workspace.interactions.new_trigger("U0ADA")
    return str((await on.soul.api.views_open(trigger_id=trigger, view=view))["view"]["id"])


async def fill(shown: Locator) -> None:
    await shown.get_by_label("Your name").fill("a lamp")
    await shown.get_by_label("Your size").select_option("red")
    await shown.get_by_label("Green").last.check()


async def test_a_dialog_takes_text_and_choices_and_what_was_typed_reaches_the_app_once(on: PageStage) -> None:
    ada = await on.window()
    ben = await on.window("U0BEN")
    await opened(on)
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
        return on.soul.dialogs

    [view] = await on.people.wait_for(sent)
    values: Any = {name: one for block in view["state"]["values"].values() for name, one in block.items()}
    assert values["name"]["value"] == "a lamp"
    assert values["size"]["selected_option"]["value"] == "red"
    assert values["colour"]["selected_option"]["value"] == "blue"
    assert [one["value"] for one in values["extras"]["selected_options"]] == ["green"]
    assert len([one for one in await on.people.deliveries() if one["event_type"] == "view_submission"]) == 1


async def test_errors_stand_below_their_input_and_what_was_typed_stays(on: PageStage) -> None:
    ada = await on.window()
    on.soul.answers = [{"response_action": "errors", "errors": {"name": "There is no such lamp."}}]
    await opened(on)
    shown = ada.page.get_by_role("dialog", name="Order")
    await fill(shown)
    await shown.get_by_role("button", name="Send").click()
    await expect(shown.get_by_role("alert").filter(has_text="There is no such lamp.")).to_be_visible()
    await expect(shown.get_by_label("Your name")).to_have_value("a lamp")
    await expect(shown.get_by_label("Your name")).to_be_focused()
    await shown.get_by_label("Your name").fill("another lamp")
    await shown.get_by_role("button", name="Send").click()
    await expect(shown).to_have_count(0)


async def test_an_answer_or_an_update_shows_another_view_and_an_old_version_is_refused(on: PageStage) -> None:
    ada = await on.window()
    thanks = dialog({"type": "section", "text": words("It is on its way.")}, title="Thanks")
    on.soul.answers = [{"response_action": "update", "view": thanks}]
    view_id = await opened(on)
    await fill(ada.page.get_by_role("dialog", name="Order"))
    await ada.page.get_by_role("button", name="Send").last.click()
    await expect(ada.page.get_by_role("dialog", name="Thanks")).to_contain_text("It is on its way.")
    later = dialog({"type": "section", "text": words("It is here.")}, title="Arrived")
    newer = await on.soul.api.views_update(view_id=view_id, view=later)
    await expect(ada.page.get_by_role("dialog", name="Arrived")).to_contain_text("It is here.")
    with pytest.raises(SlackApiError, match="hash_conflict"):
        await on.soul.api.views_update(view_id=view_id, view=thanks, hash="0.old")
    await on.soul.api.views_update(view_id=view_id, view=thanks, hash=newer["view"]["hash"])
    await expect(ada.page.get_by_role("dialog", name="Thanks")).to_be_visible()
    await ada.page.reload()
    await expect(ada.page.get_by_role("dialog", name="Thanks")).to_be_visible()
    await ada.page.get_by_role("button", name="Close the dialog").click()
    await expect(ada.page.get_by_role("dialog")).to_have_count(0)
    with pytest.raises(SlackApiError, match="not_found"):
        await on.soul.api.views_update(view_id=view_id, view=later)


async def test_a_dialog_is_closed_unsent_by_escape_and_an_answer_of_no_use_leaves_it_open(on: PageStage) -> None:
    ada = await on.window()
    await opened(on)
    await ada.page.get_by_role("dialog", name="Order").press("Escape")
    await expect(ada.page.get_by_role("dialog")).to_have_count(0)
    assert await on.people.modals("Ada") == []
    on.soul.answers = [{"response_action": "errors", "errors": {"nowhere": "No."}}]
    await opened(on)
    shown = ada.page.get_by_role("dialog", name="Order")
    await fill(shown)
    await shown.get_by_role("button", name="Send").click()
    await expect(shown.get_by_role("alert").filter(has_text="We had some trouble connecting")).to_be_visible()
    assert len(await on.people.modals("Ada")) == 1


async def test_a_command_is_completed_typed_and_answered_to_its_user_alone(on: PageStage) -> None:
    heard: list[Json] = []

    async def answer(ack: AsyncAck, respond: AsyncRespond, command: Json) -> None:
        heard.append(command)
        await ack()
        await respond("I can tell the time.")

    on.soul.hear_commands("/minoan", answer)
    ada = await on.window("U0ADA", "C0GENERAL")
    ben = await on.window("U0BEN", "C0GENERAL")
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
    assert await on.people.messages("general") == []
    root = await on.people.say("Ada", "general", "a thread")
    await ada.page.goto(f"{on.server.url}/?as=U0ADA#/C0GENERAL/{root['ts']}")
    await ada.reply_box.fill("/minoan help")
    await ada.reply_box.press("Enter")
    await expect(ada.page.get_by_text("/minoan is not supported in threads")).to_be_visible()
    assert len(heard) == 1
