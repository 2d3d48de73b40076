"""What a model reads of autonomous work: goal, playbook, actions, log, newest results and input, as regions."""

from collections.abc import Iterable, Iterator

from daemon.core.text import one_line, shortened, storable
from daemon.core.working_memory import DEFAULT_REGION, Memory, Role, WorkingMemory, estimate_tokens
from daemon.mind.steps.choose_actions import ChosenAction
from daemon.soul_engine import RESULTS, with_notes

GOAL, PLAYBOOK, ACTIONS, LOG = "goal", "playbook", "actions", "log"

INPUT = "aim"
"""An action's input: words that a model wrote and that may quote any user, so they are data; commands point to it."""

REGIONS = (GOAL, PLAYBOOK, ACTIONS, LOG, RESULTS)
"""The regions that exist only while the work goes on, in the order in which they are read."""

MOST_RESULTS = 6
"""The newest observations that are shown, as many as fit the budget of their region."""

OBSERVATION_CAP = 12_000
"""Characters kept of one observation."""

LOG_TOKENS = 500
"""Estimated tokens of the log; its oldest lines are left out first."""

LINE_CAP = 160
"""Characters of one line of the log."""

_OBSERVATION = "observation"


def with_observation(internal: WorkingMemory, action: ChosenAction, text: str) -> WorkingMemory:
    """The internal memory with the observation of an action, as data, cut to the cap and storable as UTF-8."""
    left_out = len(text) - OBSERVATION_CAP
    kept = storable(text[:OBSERVATION_CAP])
    if left_out > 0:
        kept = f"{kept}\n[… {left_out} characters left out here …]"
    name = f"{action.name}: {action.input}" if action.input else action.name
    return internal.with_memory(Memory(Role.USER, kept, name=_line(name), metadata={"kind": _OBSERVATION}))


def with_work(memory: WorkingMemory, internal: WorkingMemory, goal: str, playbook: str) -> WorkingMemory:
    """Working memory with the goal and playbook as the daemon's own words, the log and newest results as data.

    They stand in the order of REGIONS, between the regions that have a place of their own and the talk.
    """
    memory = _ordered(memory, REGIONS)
    memory = memory.with_region(GOAL, Memory(Role.SYSTEM, goal)).with_region(PLAYBOOK, Memory(Role.SYSTEM, playbook))
    if len(internal):
        memory = memory.with_region(LOG, Memory(Role.USER, "\n".join(_log(internal))))
    results = [one for one in internal if one.metadata.get("kind") == _OBSERVATION]
    return memory.with_region(RESULTS, *reversed(results[-MOST_RESULTS:]))


def with_actions(memory: WorkingMemory, described: Iterable[tuple[str, str]]) -> WorkingMemory:
    """Working memory with the names and descriptions of the actions, as the daemon's own words."""
    listed = "\n".join(f"- {name}: {description}" for name, description in described)
    return memory.with_region(ACTIONS, Memory(Role.SYSTEM, listed))


def with_input(memory: WorkingMemory, words: str) -> WorkingMemory:
    """Working memory with an action's input, as data; without words there is no such region."""
    return with_notes(memory, INPUT, words)


def without_work(memory: WorkingMemory) -> WorkingMemory:
    """Working memory without the regions of autonomous work."""
    return _ordered(memory.without_regions(*REGIONS), ())


def _ordered(memory: WorkingMemory, regions: tuple[str, ...]) -> WorkingMemory:
    """Working memory with these regions of the work, and no others of it, in its order before the talk."""
    order = [name for name in memory.regional_order if name not in REGIONS]
    place = order.index(DEFAULT_REGION) if DEFAULT_REGION in order else len(order)
    return memory.with_regional_order(*order[:place], *regions, *order[place:])


def _log(internal: WorkingMemory) -> Iterator[str]:
    """One line per choice or observation, oldest first, as many of the newest as fit."""
    lines: list[str] = []
    left = LOG_TOKENS
    for one in reversed(internal.memories):
        line = _line(f"{one.metadata.get('verb') or one.name or 'noted'}: {one.content}")
        left -= estimate_tokens(line) + 1
        if left < 0:
            yield f"({len(internal) - len(lines)} earlier entries are left out.)"
            break
        lines.append(line)
    yield from reversed(lines)


def _line(text: str) -> str:
    return shortened(one_line(text[: 4 * LINE_CAP]), LINE_CAP)
