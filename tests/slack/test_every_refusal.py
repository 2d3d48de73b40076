"""Whatever reply Slack refuses in whatever way ends whole or as a refusal; `scripts/bench refusals` tries thousands."""

import pytest

from bench.refusals import CODES, Case, Outcome, Way, cases, generated, trial
from tests.chance import dice


@pytest.mark.slow
async def test_no_reply_dies_in_silence_whatever_slack_refuses() -> None:
    choice = dice("refusals")
    replies = [generated(choice) for _ in range(25)]
    async with trial() as one:
        silent = [case for case in cases(replies) if await one.outcome(case) is Outcome.SILENT]
    assert not [(case.way, case.method, case.code, case.times, case.reply) for case in silent]


async def test_an_answer_that_slack_can_not_update_is_whole_whatever_the_code() -> None:
    reply = "".join(f"Satz mark{number:04d}x auf Deutsch, ganz schön lang.\n" for number in range(120))
    async with trial() as one:
        ends = {code: await one.outcome(Case(reply, Way.REWRITTEN, "chat.update", code, 100)) for code in CODES}
    assert ends == dict.fromkeys(CODES, Outcome.WHOLE)
