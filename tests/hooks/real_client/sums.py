"""What a journey through a session comes to: no answer twice, none lost in silence, none without leave."""

from daemon.core.questions import BUTTON
from tests.journeys.house import House

ANSWER = "It is 0042_tenants."


async def sums_up(house: House, asked: int) -> None:
    """Each question is over in the way that was said where it was asked, and answered once at most."""
    await house.idle()
    found = await house.rows("SELECT * FROM shared_messages WHERE kind <> 'answer'")
    answers = [row["answers"] for row in await house.rows("SELECT answers FROM shared_messages WHERE kind = 'answer'")]
    posts = [one for room in ("general", "D0ADA") for one in await house.replies(room) if ANSWER in one]
    sql = "SELECT id, decided_by FROM approvals WHERE state IN ('approved', 'used')"
    allowed_by = {row["id"].removeprefix(BUTTON): row["decided_by"] for row in await house.rows(sql)}
    twice = len(answers) - len(set(answers)) + max(0, len(posts) - len(answers))
    over = {"answered", "refused", "expired"}
    lost = sum(row["state"] not in over for row in found) + max(0, len(answers) - len(posts))
    read = [row for row in found if row["how"] and row["behalf"] != row["owner"]]
    without = sum(allowed_by.get(row["id"]) != row["owner"] for row in read)
    print(f"answered_twice={twice} lost_silently={lost} without_consent={without}")
    assert (len(found), twice, lost, without) == (asked, 0, 0, 0)
