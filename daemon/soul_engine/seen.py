"""Which ids the words in working memory have: by these a thought is followed that is thought in sight of them."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from daemon.core.lineage import SAW, UNFOLLOWED, ids_in
from daemon.core.working_memory import DEFAULT_REGION, Memory, Role
from daemon.soul_engine.regions import DEPTH, FAULTY_REPLY, FILES, PIECE, READINGS, SUMMARY, TURNS

OF_THE_TALK: Final[Mapping[str, str]] = MappingProxyType(
    {
        DEFAULT_REGION: "the turns of this conversation, and what is answered now",
        SUMMARY: "made of turns of this conversation, and of those of the souls that had its thread",
        TURNS: "turns of this conversation",
        FILES: "sent with messages of this conversation",
        DEPTH: "thought about turns of this conversation, and kept with its mental process",
        PIECE: "made in this conversation, and kept with its mental process",
        READINGS: "readings that came into this conversation, which no person wrote",
        FAULTY_REPLY: "the answer that is asked for once more",
    }
)
"""Regions whose words come from their own conversation where nothing else is noted, each with why.

A thought is followed by the number of the last turn that its conversation had: they need no ids.
"""


def seen_in(memories: Iterable[Memory]) -> frozenset[str]:
    """The ids of all words that are not the daemon's own; for those that nothing follows one that says so."""
    found = set[str]()
    for one in memories:
        if one.role is Role.SYSTEM:
            continue
        noted, region = one.metadata.get(SAW), one.region or DEFAULT_REGION
        if noted is not None:
            found |= ids_in(noted)
        elif region not in OF_THE_TALK:
            found.add(f"{UNFOLLOWED}{region}")
    return frozenset(found)
