"""The whole structured thought (seed 002): the schema of its answer, its occasion, and its fields in effect."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from daemon.core.authority import FUNCTION_OF, Authority
from daemon.core.perception import Modality, Perception
from daemon.core.step import EpistemicMode
from daemon.core.tempo import KINDS, OCCASION, REFLECTING
from daemon.memory.stream.keeping import Occasion
from daemon.mind.thought.cognitive_output import CognitiveInput, CognitiveOutput
from daemon.mind.thought.reading import NoThought, Refused, ThoughtRead, read_input, read_thought, read_thought_cut
from daemon.mind.thought_speech import SpeechInThought

_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": "number"}
_INTEGER: Final = {"type": "integer"}
_TRUTH: Final = {"type": "boolean"}
_TEXTS: Final = {"type": "array", "items": _TEXT}


def _object(**fields: object) -> dict[str, object]:
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def _list(**fields: object) -> dict[str, object]:
    return {"type": "array", "items": _object(**fields)}


def _one_of(*words: str) -> dict[str, object]:
    return {"type": "string", "enum": list(words)}


WIRE_SCHEMA: Final[Mapping[str, Any]] = _object(
    calls_for=_TEXT,
    inner_speech=_TEXT,
    external_speech=_TEXT,
    short_answers=_TEXT,
    epistemic_mode=_one_of(*EpistemicMode),
    confidence=_NUMBER,
    emotion_signal=_TEXT,
    salience_anchor=_TEXT,
    intent=_TEXT,
    user_model_check=_TRUTH,
    predictions=_list(
        what=_TEXT,
        confidence=_NUMBER,
        timeframe=_TEXT,
        check=_object(
            kind=_one_of("reply", "mention", "silence", "goal", "tool", "sense", "none"),
            who=_TEXT,
            words=_TEXTS,
            id=_TEXT,
            name=_TEXT,
        ),
    ),
    attention=_object(focus_on=_TEXTS, deprioritize=_TEXTS),
    memory_ops=_list(
        type=_one_of("write_episodic", "write_semantic", "journal", "intend", "retrieve"),
        content=_TEXT,
        significance=_INTEGER,
        tags=_TEXTS,
        query=_TEXT,
        when=_TEXT,
    ),
    self_model_updates=_object(
        current_state=_TEXT,
        new_uncertainty=_TEXT,
        resolved_uncertainty=_TEXT,
        recent_growth=_TEXT,
        prediction_accuracy_note=_TEXT,
    ),
    world_model_updates=_list(entity=_TEXT, attribute=_TEXT, value=_TEXT),
    goal_updates=_list(
        action=_one_of("add", "complete", "reprioritize", "abandon"),
        goal=_TEXT,
        goal_id=_TEXT,
        priority=_NUMBER,
        due=_TEXT,
        follow_up=_TRUTH,
        why=_TEXT,
    ),
    tool_calls=_list(tool=_TEXT, arguments=_TEXT),
    emotional_state=_object(
        felt_quality=_TEXT,
        valence_shift=_NUMBER,
        arousal_shift=_NUMBER,
        dominance_shift=_NUMBER,
        mood=_TEXT,
        qualia=_TEXT,
    ),
    growth_reflection=_object(worth_learning=_TRUTH, what_to_learn=_TEXT, training_pair_suggestion=_TEXT),
    value_updates=_list(action=_one_of("adopt", "reinterpret", "deactivate"), value=_TEXT, meaning=_TEXT, why=_TEXT),
    identity_update=_object(action=_one_of("none", "draft", "commit", "revise", "withdraw"), text=_TEXT, why=_TEXT),
    cycle_rate=_object(seconds=_NUMBER, why=_TEXT),
)
"""The schema that `think` asks its answers in. `arguments` and `training_pair_suggestion` are JSON objects as text."""

_NOTHING: Final[Mapping[object, object]] = {"string": "", "number": 0, "integer": 0, "boolean": False}


def bare_thought(**said: object) -> dict[str, object]:
    """Return an answer of this form that is empty except for the given fields. Each choice is its first word."""
    return _blank_fields(WIRE_SCHEMA) | said


def _blank_fields(form: Mapping[str, Any]) -> dict[str, object]:
    return {name: _blank(part) for name, part in form["properties"].items()}


def _blank(form: Mapping[str, Any]) -> object:
    match form["type"]:
        case "object":
            return _blank_fields(form)
        case "array":
            return []
    return form["enum"][0] if "enum" in form else _NOTHING[form["type"]]


def without(output: CognitiveOutput, fields: Collection[str]) -> CognitiveOutput:
    """Return a thought that says nothing in some of its fields."""
    if not fields:
        return output
    kept = {name: getattr(output, name) for name in CognitiveOutput.model_fields if name not in fields}
    return CognitiveOutput.model_construct(**{"inner_speech": "", **kept})


def in_effect(output: CognitiveOutput, authority: Authority) -> CognitiveOutput:
    """Return a thought without the fields whose functions may do nothing by themselves."""
    return without(output, [name for name in FUNCTION_OF if not authority.allows(name)])


__all__ = [
    "WIRE_SCHEMA",
    "CognitiveInput",
    "CognitiveOutput",
    "NoThought",
    "Refused",
    "SpeechInThought",
    "ThoughtRead",
    "bare_thought",
    "in_effect",
    "read_input",
    "read_thought",
    "read_thought_cut",
    "without",
]


_OCCASIONS: Final[Mapping[Modality, Occasion]] = {
    Modality.TIME: "due",
    Modality.DECISION: "result",
    Modality.NOTE: "sense",
    Modality.EVENT: "sense",
    Modality.SENSE: "sense",
}
_END_OF_VISIT: Final = "exiting"


def occasion_of(perception: Perception) -> Occasion:
    """Return the occasion of a thought about a perception. A tick names its occasion."""
    if perception.process == REFLECTING:
        return next((kind for kind in KINDS if kind == perception.params.get(OCCASION)), "due")
    if perception.modality is Modality.TIME and perception.process == _END_OF_VISIT:
        return "visit_end"
    return _OCCASIONS.get(perception.modality, "words")
