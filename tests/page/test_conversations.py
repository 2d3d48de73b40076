"""Users talk with the soul and with each other through the page."""

from playwright.async_api import FilePayload, expect

from tests.page.conftest import PageStage

EDITED = "a better word"


async def test_a_new_window_opens_the_dm_with_the_soul_where_words_and_a_file_are_sent(on: PageStage) -> None:
    ada = await on.new_window(on.server.page_url)
    await expect(ada.page.get_by_role("heading", level=1)).to_have_text("Soul")
    await expect(ada.page).to_have_url(f"{on.server.url}/?as=U0ADA")
    await expect(ada.composer).to_be_focused()
    await expect(ada.page.locator(".banner")).to_have_count(0)
    await ada.page.get_by_role("button", name="Say hello").click()
    await expect(ada.message("Hello! Who are you?")).to_be_visible()
    await expect(ada.page.locator(".welcome")).to_have_count(0)
    notes = FilePayload(name="notes.txt", mimeType="text/plain", buffer=b"remember me")
    await ada.page.locator("#room input[type=file]").set_input_files([notes])
    await expect(ada.page.locator("#room .chosen-files")).to_contain_text("notes.txt")
    await ada.say("my notes")
    async with ada.page.expect_download() as coming:
        await ada.message("my notes").get_by_role("link", name="notes.txt").click()
    assert (await (await coming.value).path()).read_text() == "remember me"


async def test_a_reply_grows_below_the_question_and_takes_feedback(on: PageStage) -> None:
    ada = await on.window()
    await ada.say("What is a *soul*?")
    await expect(ada.message("What is a soul?").locator("strong")).to_have_text("soul")
    root = await on.soul.newest("dm")

    await on.soul.show_status(root)
    await expect(ada.timeline.locator(".status")).to_have_text("Soul is thinking…")
    ts = await on.soul.start(root, "Something **old")
    answer = ada.page.locator(f'.message[data-ts="{ts}"]')
    await expect(answer.locator(".body")).to_have_text("Something **old")
    await expect(answer).to_have_attribute("aria-busy", "true")
    await expect(ada.timeline.locator(".status")).to_have_count(0)
    await on.soul.append(root, ts, " and warm**\n\n- it lives")
    await expect(answer.locator("strong")).to_have_text("old and warm")
    await on.soul.finish(root, ts)
    await expect(answer.locator("li")).to_have_text("it lives")
    await expect(answer).not_to_have_attribute("aria-busy", "true")

    good = answer.get_by_role("button", name="Good answer")
    await good.click()
    await expect(good).to_have_attribute("aria-pressed", "true")

    async def reached() -> bool:
        return on.soul.clicks == [("U0ADA", "good")]

    await on.people.wait_for(reached)


async def test_a_mention_is_completed_and_the_reply_opens_its_thread(on: PageStage) -> None:
    ada = await on.window("U0ADA", "C0GENERAL")
    await ada.composer.press_sequentially("@so")
    await expect(ada.page.get_by_role("option", name="Soul")).to_be_visible()
    await ada.composer.press("Tab")
    await ada.composer.press_sequentially("are you there?")
    await ada.composer.press("Enter")
    await expect(ada.message("are you there?").locator(".mention")).to_have_text("@Soul")
    root = await on.soul.newest("general")
    ts = await on.soul.start(root, "Here I am.")
    await on.soul.finish(root, ts)
    await expect(ada.thread.locator(".message").last.locator(".body")).to_have_text("Here I am.")
    await expect(ada.composer).to_be_focused()
    await expect(ada.message("are you there?").locator(".summary")).to_contain_text("1 reply")

    await ada.reply_box.fill("Good to know.")
    await ada.reply_box.press("Enter")
    await expect(ada.thread.locator(".message")).to_have_count(3)
    await expect(ada.timeline.locator(".message")).to_have_count(1)
    await expect(ada.message("are you there?").locator(".summary")).to_contain_text("2 replies")
    await ada.reply_box.press("Escape")
    await expect(ada.page.locator("#thread")).to_be_hidden()


async def test_each_window_is_one_user_and_ben_never_sees_adas_dm(on: PageStage) -> None:
    ada = await on.window()
    ben = await on.window("U0BEN")
    gus = await on.window("U0GUS")
    await ada.say("a secret about Ben")
    await on.soul.reply(await on.soul.newest("dm"), "I keep your secret.")
    await expect(ada.message("I keep your secret.")).to_be_visible()
    await ada.go("general")
    await ada.say("hello @Ben")

    await expect(ben.page.locator("#sidebar").get_by_role("link", name="general, 1 unread")).to_be_visible()
    await ben.page.locator("#sidebar").get_by_role("link", name="general, 1 unread").click()
    await expect(ben.message("hello @Ben").locator(".mention.mine")).to_have_text("@Ben")
    await expect(ben.page.locator("#sidebar").get_by_role("link", name="general", exact=True)).to_be_visible()
    assert "secret" not in await ben.page.content()
    await expect(gus.page.locator("#sidebar").get_by_role("link", name="founders")).to_have_count(0)


async def test_users_edit_and_delete_only_their_own_messages_and_react_to_any(on: PageStage) -> None:
    await on.people.say("ben", "general", "Ben's words")
    ada = await on.window("U0ADA", "C0GENERAL")
    await ada.say("a word & <more>")
    own = ada.message("a word & <more>")
    await own.hover()
    await own.get_by_role("button", name="Edit message").click()
    box = ada.page.get_by_label("Edit your message")
    await expect(box).to_have_value("a word & <more>")
    await box.fill(EDITED)
    await box.press("Enter")
    await expect(ada.message(EDITED).locator(".edited")).to_be_visible()
    await ada.composer.press("ArrowUp")  # in the empty box it opens one's last message
    await expect(box).to_be_focused()
    await box.press("Escape")
    await expect(box).to_have_count(0)

    await ada.message("Ben's words").hover()
    await expect(ada.message("Ben's words").get_by_role("button", name="Edit message")).to_have_count(0)
    await ada.message(EDITED).hover()
    await ada.message(EDITED).get_by_role("button", name="Delete message").click()
    await ada.page.get_by_role("button", name="Delete", exact=True).click()
    await expect(ada.message(EDITED)).to_have_count(0)
    said = await on.people.say("ben", "general", "it works")
    await on.people.react("ben", "general", said["ts"], "tada")
    party = ada.message("it works").get_by_role("button", name="tada")
    await expect(party).to_have_text("🎉1")
    await party.click()
    await expect(party).to_have_attribute("aria-pressed", "true")
    await expect(party).to_have_text("🎉2")
    await party.click()
    await expect(party).to_have_attribute("aria-pressed", "false")
    await ada.message("it works").hover()
    await ada.message("it works").get_by_role("toolbar").get_by_role("button", name="Add a reaction").click()
    await ada.page.get_by_role("button", name="rocket").click()
    await expect(ada.message("it works").get_by_role("button", name="rocket, 1")).to_have_text("🚀1")


async def test_an_ephemeral_message_is_marked_and_shown_to_one_user_only(on: PageStage) -> None:
    ada = await on.window("U0ADA", "C0GENERAL")
    ben = await on.window("U0BEN", "C0GENERAL")
    await on.soul.api.chat_postEphemeral(channel="C0GENERAL", user="U0ADA", text="psst")
    await expect(ada.message("psst")).to_contain_text("Only visible to you")
    await ada.page.reload()
    await expect(ada.message("psst")).to_contain_text("Only visible to you")
    await ada.say("got it")
    await expect(ben.message("got it")).to_be_visible()
    await expect(ben.message("psst")).to_have_count(0)


async def test_suggested_prompts_and_the_apps_home_are_shown(on: PageStage) -> None:
    ada = await on.window()
    prompts = [{"title": "Tell me a tale", "message": "Once upon a time?"}]
    await on.soul.api.api_call(
        "assistant.threads.setSuggestedPrompts", json={"channel_id": "D0ADA", "title": "Try one", "prompts": prompts}
    )
    await expect(ada.page.locator(".prompts-title")).to_have_text("Try one")
    gus = await on.window("U0GUS")
    await expect(gus.page.locator(".prompt").first).not_to_have_text("Tell me a tale")
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": "I am *awake*"}}]
    await on.soul.api.views_publish(user_id="U0ADA", view={"type": "home", "blocks": blocks})
    await ada.page.get_by_role("button", name="Home").click()
    await expect(ada.page.get_by_role("region", name="Home").locator("strong")).to_have_text("awake")
    await ada.page.get_by_role("button", name="Messages").click()
    await ada.page.get_by_role("button", name="Tell me a tale").click()
    await expect(ada.message("Once upon a time?")).to_be_visible()
