"""Thoughts as a model writes them, for journeys of souls that think whole ones."""

import json

CANARY = "zqprivate"


def thought(speech: str | None, **parts: object) -> str:
    """A thought as a model writes it, in the form of the wire."""
    lead = {"calls_for": parts.pop("calls_for", "nothing"), "inner_speech": parts.pop("inner_speech", CANARY)}
    return json.dumps({**lead, "external_speech": speech or "", **parts}, ensure_ascii=False)
