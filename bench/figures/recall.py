"""How much of the evidence surfaces: LoCoMo's questions, three thoughts, paraphrases; by words, vectors, both."""

import random
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from bench.plan import Bench
from bench.recall.arms import Arms, Ranking, stocked
from bench.recall.corpus import Talk, haystack, load_talks
from bench.report import Row, Section
from daemon.core.working_memory import estimate_tokens

_RANKED: Final = 80
_TOKENS: Final = 800
_SEED: Final = 11
_AIMS: Final = {
    "turns@10": 0.83,
    "sessions@10": 0.96,
    "tokens_800": 0.865,
    "no_shared_word": 0.50,
    "thoughts@10": 0.73,
    "paraphrases@10": 0.50,
}


async def measure(bench: Bench) -> list[Row | Section]:
    """The shares that each arm finds; the aims are those for what a cycle does."""
    if bench.data is None:
        raise ValueError("say with --data FILE where the conversations are")
    talks = load_talks(bench.data)
    hay = haystack(talks)
    arms: dict[str, dict[str, object]] = {}
    with tempfile.TemporaryDirectory(prefix="bench-recall-") as folder:
        async with stocked([*talks, hay], Path(folder), _RANKED) as asked:
            for name, ranking in asked.by_name.items():
                arms[name] = await _shares(talks, hay, ranking, name, asked)
                bench.tell(f"{name}: {arms[name]}")
    questions = sum(len(talk.questions) for talk in talks)
    dropped = sum(talk.dropped for talk in talks)
    ours = arms["ours"]
    rows = [
        Row(f"recall {figure}", "", float(str(ours[figure])), at_least=aim, note=f"text {arms['text'][figure]}")
        for figure, aim in _AIMS.items()
    ]
    return [*rows, Section("recall", {"arms": arms, "questions": questions, "dropped_evidence": dropped})]


async def _shares(talks: Sequence[Talk], hay: Talk, ranking: Ranking, name: str, arms: Arms) -> dict[str, object]:
    shares: dict[str, list[float]] = defaultdict(list)
    by_category: dict[str, list[float]] = defaultdict(list)
    draw = random.Random(_SEED)  # noqa: S311 - which questions were thought before
    for talk in talks:
        sessions = {turn.key: turn.session for turn in talk.turns}
        tokens = {turn.key: estimate_tokens(turn.body) for turn in talk.turns}
        for one in talk.questions:
            found = await ranking(talk, [one.text])
            for most in (5, 10, 20):
                shares[f"turns@{most}"].append(_share(found[:most], one.evidence))
            by_category[str(one.category)].append(shares["turns@10"][-1])
            if talk.shares_no_word(one):
                shares["no_shared_word"].append(shares["turns@10"][-1])
            wanted, order = {sessions[key] for key in one.evidence}, list(dict.fromkeys(sessions[key] for key in found))
            for most in (5, 10):
                shares[f"sessions@{most}"].append(_share(order[:most], wanted))
            shares["tokens_800"].append(_share(_within(found, tokens), one.evidence))
            before = draw.sample([other.text for other in talk.questions if other != one], 2)
            thoughts = await arms.seated[name](talk, [one.text, *before])
            shares["thoughts@10"].append(_share(thoughts[:10], one.evidence))
    for one in hay.questions:
        shares["paraphrases@10"].append(_share((await ranking(hay, [one.text]))[:10], one.evidence))
    mean = {figure: round(sum(values) / len(values), 4) for figure, values in shares.items() if values}
    return {**mean, "by_category": {name: round(sum(of) / len(of), 4) for name, of in sorted(by_category.items())}}


def _share(found: Sequence[object], wanted: Sequence[object] | set[int]) -> float:
    return len(set(found) & set(wanted)) / len(set(wanted))


def _within(found: Sequence[str], tokens: Mapping[str, int]) -> list[str]:
    """The first turns whose words fit the budget of tokens together."""
    left, kept = _TOKENS, []
    for key in found:
        left -= tokens[key]
        if left < 0:
            break
        kept.append(key)
    return kept
