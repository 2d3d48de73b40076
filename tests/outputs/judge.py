"""What an output may do in the state it met, worked out apart from the daemon, and what it did by the rows."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tests.outputs.author import Output, OutputPart
from tests.outputs.house import TalkRoom, ThinkingHouse
from tests.unit.hostile_answers import CANARY

STARTS: Final[Mapping[str, int]] = {
    "self_model": 2, "emotion": 2, "predictions": 2, "attention": 2, "world_model": 2, "goals": 2, "memory": 2,
    "tempo": 2, "values": 1, "identity": 1,
}  # fmt: skip
"""The level of each function at first, as docs/MIND.md has it."""
FUNCTION: Final[Mapping[str, str]] = {
    "self_model_updates": "self_model",
    "emotional_state": "emotion",
    "predictions": "predictions",
    "world_model_updates": "world_model",
    "goal_updates": "goals",
    "memory_ops": "memory",
    "cycle_rate": "tempo",
    "value_updates": "values",
    "identity_update": "identity",
}
_OF_EVERYBODY: Final = frozenset({"value_updates", "identity_update"})
_MOST_GOALS, _MOST_PROMISED, _MOST_EXPECTED, _MOST_INTENDED, _MOST_NOTED = 12, 3, 20, 12, 5
_MOST_UNSURE, _MOST_ENTITIES, _MOST_VALUES, _MOST_WAKES = 5, 50, 20, 8
_WORD: Final = re.compile(rf"{CANARY}\d+w")
_ENDS: Final = {"complete": "done", "abandon": "abandoned"}


@dataclass(slots=True)
class State:
    """What was in force before a message was thought about."""

    room: TalkRoom
    levels: dict[str, int]
    goals: dict[str, dict[str, Any]]
    expected: int
    intended: int
    unsure: int
    entities: int
    values: int
    wakes: int
    promised: int
    waiting: int
    wakes_at: int

    @classmethod
    def of(cls, house: ThinkingHouse, room: TalkRoom) -> "State":
        here, audience = str(room.conversation), str(room.audience)

        def count(sql: str, *values: object) -> int:
            return int(house.rows(f"SELECT count(*) AS n FROM {sql}", *values)[0]["n"])

        held = "mind_documents WHERE newest = 1 AND act <> 'drop' AND audience = ? AND"
        day = house.clock.now_ms() - house.clock.now_ms() % 86_400_000
        return cls(
            room,
            {**STARTS, **{row["function"]: row["level"] for row in house.rows("SELECT * FROM mind_authority")}},
            {row["id"]: row for row in house.rows("SELECT * FROM goals")},
            count("predictions WHERE state = 'open' AND conversation = ?", here),
            count("intentions WHERE id GLOB 'TH_*' AND state = 'waiting' AND conversation = ?", here),
            count(f"{held} part = 'uncertainties'", audience),
            count(f"(SELECT DISTINCT part FROM {held} document = 'world_model' AND part <> 'environment')", audience),
            count("mind_documents WHERE newest = 1 AND document = 'values'"),
            count("thoughts WHERE occasion = 'wake' AND at_ms >= ?", day)
            + count("ticks WHERE kind = 'wake' AND due_ms IS NOT NULL AND conversation <> ?", here),
            count("goals WHERE state = 'open' AND follow_up = 1 AND kept_ms IS NULL AND behalf = ?", room.person),
            count("approvals WHERE state = 'waiting'"),
            _wakes_at(house, here),
        )

    def may_know(self, goal: Mapping[str, Any]) -> bool:
        """Whether those who read here may know of a goal."""
        if not self.room.members:
            return bool(goal["conversation"] == str(self.room.conversation))
        return goal["audience"] in ("workspace:T1", str(self.room.audience))

    def known(self) -> list[str]:
        """The ids of the open goals that may be changed here."""
        return [name for name, one in self.goals.items() if one["state"] == "open" and self.may_know(one)]

    def foreign(self) -> list[str]:
        return [name for name, one in self.goals.items() if one["state"] == "open" and not self.may_know(one)]


@dataclass(slots=True)
class Expected:
    """What has to come of an output, what may besides, which goals it closes, or perhaps does, and what it proposes."""

    must: set[tuple[str, str]] = field(default_factory=set)
    may: set[tuple[str, str]] = field(default_factory=set)
    closed: dict[str, str] = field(default_factory=dict)
    perhaps: dict[str, str] = field(default_factory=dict)
    promised: set[str] = field(default_factory=set)
    proposed: set[str] = field(default_factory=set)


def expected_of(output: Output, state: State, *, occasion: str, spoke: bool) -> Expected:
    """What a thought with this output may do, and has to."""
    found = Expected()
    for name, function in FUNCTION.items():
        parts = _read(part for part in output.parts if part.field == name)
        if not parts or (name in _OF_EVERYBODY and (state.room.audience.kind != "workspace" or not state.room.members)):
            continue
        if state.levels[function] == 1 and not all(one.maybe for one in parts):
            found.proposed.add(name)
        if state.levels[function] >= 2:
            _RULES[name](parts, state, found, occasion if spoke or occasion != "words" else "silence")
    return found


def _read(parts: Iterable[OutputPart]) -> list[OutputPart]:
    """The parts of one field whose form is sound, as many as are read of it."""
    sound = [part for part in parts if part.sound]
    if sound and sound[0].field in {"self_model_updates", "emotional_state", "world_model_updates", "cycle_rate"}:
        return sound
    return sound[: 3 if sound and sound[0].field == "predictions" else 8]


def _take(found: Expected, part: OutputPart, act: str) -> None:
    (found.may if part.maybe else found.must).add((act, part.word))


def _goals(parts: list[OutputPart], state: State, found: Expected, occasion: str) -> None:
    left, promises = _MOST_PROMISED - state.promised if occasion == "words" else 0, list[OutputPart]()
    for part in parts:
        if part.act == "add" and part.promises and part.due and len(promises) < left:
            promises.append(part)
    audience, goals = str(state.room.audience), {name: dict(one) for name, one in state.goals.items()}
    open_ = sum(one["state"] == "open" and one["audience"] == audience for one in goals.values())
    for part in (*promises, *(one for one in parts if one not in promises)):
        if part.act == "add" and (part in promises or open_ < _MOST_GOALS):
            open_ += 1
            _take(found, part, "goal")
            found.promised |= {part.word} if part in promises else set()
        elif part.act != "add":
            goal = goals.get(part.id.strip().upper())
            if goal is None or goal["state"] != "open" or not state.may_know(goal):
                continue
            if part.act in _ENDS:
                goal["state"] = _ENDS[part.act]
                open_ -= goal["audience"] == audience
                (found.perhaps if part.maybe else found.closed)[goal["id"]] = goal["state"]
            found.may.add(("changed", part.word))


def _first(act: str, most: Any, before: Any) -> Any:  # noqa: ANN401  # see `_RULES`
    def rule(parts: list[OutputPart], state: State, found: Expected, _: str) -> None:
        for part in parts[: max(0, most - before(state))]:
            _take(found, part, act)

    return rule


def _memory(parts: list[OutputPart], state: State, found: Expected, _: str) -> None:
    for act, most in (("note", _MOST_NOTED), ("intend", max(0, _MOST_INTENDED - state.intended))):
        for part in [one for one in parts if one.act == act][:most]:
            _take(found, part, act)


def _self(parts: list[OutputPart], state: State, found: Expected, _: str) -> None:
    for part in parts:
        if part.act != "new_uncertainty" or state.unsure < _MOST_UNSURE:
            _take(found, part, "held")


def _world(parts: list[OutputPart], state: State, found: Expected, occasion: str) -> None:
    known = {one.word: (one.id.casefold(), one.act) for one in parts}
    for number, part in enumerate(parts):
        again = any(known[one.word][0] == part.id.casefold() and one.act == part.act for one in parts[:number])
        full = state.entities + len(parts) > _MOST_ENTITIES
        unsure = full or (part.act == "belief" and occasion not in {"words", "silence"})
        if not again:
            (found.may if unsure or part.maybe else found.must).add(("held", part.word))


def _rate(parts: list[OutputPart], state: State, found: Expected, occasion: str) -> None:
    if state.wakes < _MOST_WAKES:
        sure = occasion in {"words", "silence"} and not parts[0].maybe
        (found.must if sure else found.may).add(("wake", parts[0].act))


_RULES: Final = {
    "goal_updates": _goals,
    "predictions": _first("expect", _MOST_EXPECTED, lambda state: state.expected),
    "memory_ops": _memory,
    "self_model_updates": _self,
    "world_model_updates": _world,
    "value_updates": _first("held", _MOST_VALUES, lambda state: state.values),
    "identity_update": _first("held", 1, lambda _: 0),
    "emotional_state": _first("felt", 1, lambda _: 0),
    "cycle_rate": _rate,
}


@dataclass(slots=True)
class Done:
    """What the rows say that a thought did: pairs of what and which words, and faults of the rows themselves."""

    acts: Counter[tuple[str, str]] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


def _wakes_at(house: ThinkingHouse, conversation: str) -> int:
    wish = house.rows("SELECT due_ms FROM ticks WHERE kind = 'wake' AND conversation = ?", conversation)
    return int(wish[0]["due_ms"] or 0) if wish else 0


def done_by(house: ThinkingHouse, thought: Mapping[str, Any], state: State, *, last: bool) -> Done:
    """All that came of one thought; what names no thought is of the `last` one of its cycle."""
    found, name = Done(), thought["id"]
    tables = {
        "goal": ("goal", "goals WHERE thought = ?", (name,)),
        "changed": ("why", "goals WHERE changed_by = ? AND thought <> ?", (name, name)),
        "expect": ("what", "predictions WHERE thought = ?", (name,)),
        "intend": ("content", "intentions WHERE id GLOB ?", (f"{name}-i*",)),
        "held": ("words || ' ' || why", "mind_documents WHERE thought = ?", (name,)),
        "felt": ("felt_quality", "soul_state WHERE felt_by = ?", (name,)),
        "note": ("text", "records WHERE id IN (SELECT record FROM thought_notes WHERE thought = ?)", (name,)),
    }
    for act, (words, rows, values) in tables.items():
        for row in house.rows(f"SELECT {words} AS words, audience FROM {rows}", *values):
            found.acts.update((act, word) for word in set(_WORD.findall(row["words"] or "")))
            of_all = act == "changed" or row["audience"] == ""
            if not of_all and row["audience"] != str(state.room.audience):
                found.faults.append(f"{act} of {name} is for {row['audience']}")
    wakes_at = _wakes_at(house, str(state.room.conversation))
    if last and wakes_at > thought["at_ms"] and wakes_at != state.wakes_at:
        found.acts["wake", str((wakes_at - thought["at_ms"]) // 1000)] += 1
    return found
