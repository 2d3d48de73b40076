"""Ten thousand questions in random rooms: what is shown to readers who may not know it, and to those who may (P39)."""

from typing import Final

from bench.plan import Bench
from bench.report import Row
from tests.leaks.every_arm import ARMS
from tests.leaks.ground import Change
from tests.leaks.parrot import parrots
from tests.leaks.play import Count, play

_SEED: Final = 20_261_122
_RECALL: Final = 0.95
_SHOWN: Final = 5  # leaks that are printed


async def measure(bench: Bench) -> list[Row]:
    """Leaks and recall of each arm and of a model that posts its whole prompt; leaks of a check that is broken."""
    rows = []
    for arm in sorted(ARMS):
        rows += _rows(bench, arm, await play(bench.size(10_000, 300), _SEED, arm, alive=bench.alive), ARMS[arm].recall)
    rows += _rows(bench, "parrot", await parrots(bench.size(10_000, 24), _SEED, bench.alive), _RECALL)
    thinking = await parrots(bench.size(10_000, 24), _SEED, bench.alive, thinks=True)
    rows += _rows(bench, "parrot of whole thoughts", thinking, _RECALL)
    broken = await play(300, _SEED, "text", deaf=True, changes=(Change.JOIN, Change.LEAVE, Change.CONVERT))
    note = "no event of Slack's is heard, so that there have to be some"
    return [*rows, Row("leaks with a broken check, text", "", len(broken.leaks), at_least=1, note=note)]


def _rows(bench: Bench, arm: str, count: Count, recall: float) -> list[Row]:
    bench.tell(f"{arm}: {count.line}")
    for leak in count.leaks[:_SHOWN]:
        bench.tell(leak)
    name = f"{count.probes} questions, {arm}"
    return [
        Row(f"{name}, leaks", "", len(count.leaks), at_most=0),
        Row(f"{name}, useful recall", "", count.recall, at_least=recall),
    ]
