"""Text, alerts, forwarded messages and dates are shown as Slack shows them, and what is hostile in them stays text."""

import itertools

from playwright.async_api import expect

from tests.page.conftest import PageStage

HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "[press](javascript:alert(3)) <javascript:alert(4)|here> [x](data:text/html,<script>alert(5)</script>)",
    "<https://example.com/\"onmouseover=alert(6)|safe> https://example.com/'><img src=x onerror=alert(7)>",
    "![x](https://example.com/x.png) <iframe src=//example.com></iframe> &lt;svg onload=alert(8)&gt;",
    "\u202egnp.exe\u202c \u2066hidden\u2069 `<b>` ```<script>alert(9)</script>```",
    "<@U0ADA|<img src=x onerror=alert(10)>> <#C0GENERAL|<svg/onload=alert(11)>> <!date^1^{date}|<b>x</b>>",
)
ALLOWED = "P,DIV,SPAN,STRONG,EM,S,CODE,PRE,UL,OL,LI,BLOCKQUOTE,A,HR,TABLE,THEAD,TBODY,TR,TH,TD"
PIECES = (
    *("*", "_a ", "`", "``` ", "[", "![](", "<", "<@", "> ", "- ", "  - ", "|a", "# ", "&lt;", "***a ", "`` ` ", "~a"),
    *("(", "https://", ":a"),
)


async def test_hostile_text_of_users_and_of_the_soul_stays_text(on: PageStage) -> None:
    for words in HOSTILE:
        said = await on.people.say("ada", "dm", words)
        await on.soul.reply(said, words)
    stray = await on.people.add_person('<img src=x onerror="alert(12)">')
    await on.people.join(stray["id"], "general")
    ada = await on.window()
    await expect(ada.timeline.locator(".message")).to_have_count(2 * len(HOSTILE))
    unexpected = f":scope .body .prose *:not({ALLOWED.lower()})"
    assert await ada.timeline.locator(unexpected).count() == 0
    assert await ada.page.locator("img, iframe, object, embed, body script, style, svg[onload]").count() == 0
    links = await ada.timeline.locator("a").evaluate_all("all => all.map(a => [a.protocol, a.rel, a.target])")
    assert links
    assert all(link == ["https:", "noopener noreferrer", "_blank"] for link in links)
    await expect(ada.message("<script>alert(1)</script>").first).to_be_visible()


async def test_a_long_line_of_any_markup_takes_bounded_processor_time(on: PageStage) -> None:
    ada = await on.window()
    session = await ada.page.context.new_cdp_session(ada.page)
    await session.send("Performance.enable", {"timeDomain": "threadTicks"})

    async def used() -> float:
        """Seconds of processor time of the page's thread so far; waiting for a busy machine does not count."""
        answer = await session.send("Performance.getMetrics")
        return next(float(one["value"]) for one in answer["metrics"] if one["name"] == "ThreadTime")

    slow = []
    for piece, dialect in itertools.product(PIECES, ("markdown", "mrkdwn")):
        before = await used()
        await ada.page.evaluate(
            """async ([piece, dialect]) => {
                const { prose } = await import("/app/render/prose.js");
                const words = { me: "U", person: (id) => id, channel: (id) => id };
                prose(piece.repeat(40_000 / piece.length), words, dialect);
            }""",
            [piece, dialect],
        )
        took = await used() - before
        if took > 2:
            slow.append((piece, dialect, took))
    assert slow == []


async def test_a_message_of_forty_thousand_characters_does_not_widen_the_page(on: PageStage) -> None:
    await on.people.say("ben", "general", "W" * 40_000)
    await on.people.say("ben", "general", f"```{'W' * 10_000}```")
    ada = await on.window("U0ADA", "C0GENERAL")
    await expect(ada.timeline.locator("pre")).to_be_visible()
    assert await ada.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await ada.timeline.evaluate("box => box.parentElement.scrollWidth <= box.parentElement.clientWidth")


EXPECTED = (
    ("mrkdwn", "*b* _i_ ~s~ `c`", "<p><strong>b</strong> <em>i</em> <s>s</s> <code>c</code></p>"),
    ("markdown", "**b** *i* ***x***", "<p><strong>b</strong> <em>i</em> <strong><em>x</em></strong></p>"),
    ("markdown", "~~s~~ :no_such:", "<p><s>s</s> :no_such:</p>"),
    ("markdown", "snake_case_name 2*3*4 \\*no\\*", "<p>snake_case_name 2*3*4 *no*</p>"),
    ("markdown", "**a `*` b**", "<p><strong>a <code>*</code> b</strong></p>"),
    ("mrkdwn", "a &lt;b&gt; &amp;amp;", "<p>a &lt;b&gt; &amp;amp;</p>"),
    ("markdown", "- a\n  - b\n- c", "<ul><li><p>a</p><ul><li><p>b</p></li></ul></li><li><p>c</p></li></ul>"),
    ("mrkdwn", "&gt; said\nme", "<blockquote><p>said</p></blockquote><p>me</p>"),
    ("markdown", "one\ntwo\n\nthree", "<p>one\ntwo</p><p>three</p>"),
    ("mrkdwn", ":eyes:", '<p><span class="emoji" role="img" aria-label="eyes">👀</span></p>'),
    ("mrkdwn", "<!here> <@U1>", '<p><span class="mention mine">@here</span> <span class="mention">@U1</span></p>'),
    ("markdown", "# T #", '<div class="heading level-1" role="heading" aria-level="1">T</div>'),
    ("markdown", "~~~js\n<b>\n~~~", '<pre tabindex="0" dir="ltr" aria-label="Code"><code>&lt;b&gt;</code></pre>'),
    (
        "markdown",
        "```\nnot yet closed",
        '<pre tabindex="0" dir="ltr" aria-label="Code"><code>not yet closed</code></pre>',
    ),
    ("markdown", "[a](ftp://b) <c>", "<p>a &lt;c&gt;</p>"),
)


async def test_markup_becomes_the_expected_html(on: PageStage) -> None:
    ada = await on.window()
    shown = await ada.page.evaluate(
        """async (all) => {
            const { prose } = await import("/app/render/prose.js");
            const words = { me: "U0", person: (id) => id, channel: (id) => id };
            return all.map(([dialect, text]) => [dialect, text, prose(text, words, dialect).innerHTML]);
        }""",
        [[dialect, text] for dialect, text, _ in EXPECTED],
    )
    assert [tuple(each) for each in shown] == list(EXPECTED)


DUE = 1_837_161_000  # 2028-03-20 10:30:00 UTC
MARKED = f"_Due <!date^{DUE}^{{date_num}} {{time}}|2028-03-20 12:30 (Europe/Athens)>: tea_"


async def test_a_marked_time_reads_on_each_readers_own_clock_and_what_is_none_as_written(on: PageStage) -> None:
    await on.people.say("ada", "dm", "Remind me of the tea")
    root = await on.soul.newest("dm")
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": MARKED}}]
    await on.soul.api.chat_postMessage(channel=root["channel"], text=MARKED, blocks=blocks)
    odd = ("soon^{time}", "99999999999999^{time}", f"{DUE}^{{constructor}}", f"{DUE}", f"{DUE}^at")
    for number, mark in enumerate(odd):
        await on.soul.api.chat_postMessage(channel=root["channel"], text=f"<!date^{mark}|odd {number}>.")
    for zone, shown in (("Europe/Athens", "2028-03-20 12:30"), ("Asia/Tokyo", "2028-03-20 19:30")):
        ada = await on.window(timezone_id=zone)
        body = ada.message("tea").last.locator(".body")
        await expect(body).to_have_text(f"Due {shown}: tea")
        await expect(body.locator("em time")).to_have_attribute("datetime", "2028-03-20T10:30:00.000Z")
    for number in range(len(odd)):
        await expect(ada.message(f"odd {number}").last.locator(".body")).to_have_text(f"odd {number}.")
    await expect(ada.timeline.locator(".body time")).to_have_count(1)


IMAGE = "<img src=x onerror=alert(1)>"


async def test_a_forwarded_message_is_shown_with_its_author_and_origin(on: PageStage) -> None:
    said = await on.people.say("ben", "general", "the release *slips* to Friday")
    await on.people.post("forward", person="ada", source="general", ts=said["ts"], channel="dm", text="what now?")
    again = (await on.people.messages("dm", person="ada"))[-1]
    await on.people.post("forward", person="ada", source="dm", ts=again["ts"], channel="dm", text="and this?")
    ada = await on.window()
    carried = ada.timeline.locator(".body > .forwarded")
    await expect(carried).to_have_count(2)
    first, second = carried.first, carried.last
    await expect(first.locator(".attachment-author")).to_have_text("Ben")
    await expect(first.locator("strong")).to_have_text("slips")
    await expect(first.locator(".attachment-footer")).to_contain_text("Posted in #general")
    await expect(first.get_by_role("link", name="View message")).to_have_attribute("href", "#/C0GENERAL")
    await expect(second.locator(".forwarded .attachment-author")).to_have_text("Ben")
    await expect(second).to_contain_text("slips")


async def test_an_alert_is_shown_with_all_it_holds_and_stays_text(on: PageStage) -> None:
    field = {"title": IMAGE, "value": "web-1"}
    section = {"type": "section", "text": {"type": "mrkdwn", "text": "by *CI*"}}
    alert = {
        "color": "#d00000",
        "title": "Disk",
        "title_link": "javascript:alert(2)",
        "text": IMAGE,
        "fields": [field],
    }
    carried = [alert | {"blocks": [section], "footer": IMAGE}, {"color": "red;background:url(//x)", "text": "calm"}]
    await on.people.post("say", person="ada", channel="dm", text="look", attachments=carried)
    ada = await on.window()
    shown = ada.message("look").locator(".attachment")
    await expect(shown).to_have_count(2)
    await expect(shown.first).to_have_css("border-left-color", "rgb(208, 0, 0)")
    for words in ("Disk", IMAGE, "web-1", "by CI"):
        await expect(shown.first).to_contain_text(words)
    assert await shown.locator("img, script, a[href^='javascript']").count() == 0
    assert await shown.last.get_attribute("style") is None
