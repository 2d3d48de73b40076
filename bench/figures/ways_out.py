"""Words of rooms, contexts, sessions and notes by every way out of a whole daemon: what is shown to whom (P39)."""

from typing import Final

from bench.plan import Bench
from bench.report import Row
from tests.leaks.shared import play_shared

_SEED: Final = 20_261_123
_RECALL: Final = 0.95
_SHOWN: Final = 5  # leaks that are printed


async def measure(bench: Bench) -> list[Row]:
    """Leaks, and the share that was shown of what had to be."""
    count = await play_shared(bench.size(5_000, 250), _SEED)
    bench.tell(count.line)
    for leak in count.leaks[:_SHOWN]:
        bench.tell(leak)
    broken = await play_shared(125, _SEED, talkative=True)
    bench.tell(f"broken: {broken.line}")
    note = "words of sessions are kept for everybody, so that there have to be some"
    return [
        Row("leaks of a broken daemon", "", len(broken.leaks), at_least=1, note=note),
        Row(f"{count.probes} probes by every way out, leaks", "", len(count.leaks), at_most=0),
        Row(f"{count.probes} probes by every way out, useful recall", "", count.recall, at_least=_RECALL),
    ]
