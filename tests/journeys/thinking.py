"""Thoughts as a model writes them, for journeys of souls that think whole ones."""

import json

CANARY = "zqprivate"


def thought(speech: str | None, **parts: object) -> str:
    """A thought as a model writes it, in the form of the wire; unless it says so, it learned nothing of anybody."""
    lead = {"calls_for": parts.pop("calls_for", "nothing"), "inner_speech": parts.pop("inner_speech", CANARY)}
    said = {**lead, "external_speech": speech or "", "user_model_check": False, **parts}
    return json.dumps(said, ensure_ascii=False)


def expecting(what: str, sure: float, until: str, **check: object) -> dict[str, object]:
    """An expectation, as a model writes it."""
    blank = {"kind": "none", "who": "", "words": [], "id": "", "name": ""}
    return {"what": what, "confidence": sure, "timeframe": until, "check": {**blank, **check}}


def adding(goal: str, **more: object) -> dict[str, object]:
    """A goal to be added, as a model writes it."""
    return {"action": "add", "goal": goal, **more}
