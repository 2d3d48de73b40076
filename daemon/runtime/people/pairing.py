"""Obeys *pair CODE* in a direct message: shows the person what the machine calls itself, and lets a click decide.

No model reads any of it. Only what a person says and clicks in Slack themselves counts.
"""

import secrets
from dataclasses import replace
from typing import Final

from daemon.core.fencing import clean_name
from daemon.core.pairing import BUTTON, CHOICES
from daemon.core.perception import Modality, Place
from daemon.core.phrases import Command, Phrase
from daemon.core.sessions import key_of
from daemon.ism.permission import code_block, plain_sight
from daemon.memory.queues.approvals import NewApproval
from daemon.memory.queues.cycle_effect import CycleEffect
from daemon.memory.queues.memory_acts import Asker, MemoryAct
from daemon.memory.records import Delivery
from daemon.memory.shared.keys import new_key_id
from daemon.memory.shared.pairing_acts import CodeTyped, MachineDecided
from daemon.memory.shared.pairings import Typed, WeighedCode
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.effects import effect_of_words
from daemon.runtime.people.own_words import say

_SENTENCES: Final = {
    Typed.UNKNOWN: "pair_unknown",
    Typed.WRONG: "pair_unknown",  # nobody learns that one half is right
    Typed.TAKEN: "pair_taken",
    Typed.TOO_MANY: "pair_too_many",
}
_CHOOSE: Final = tuple(f"pair_choose_{act.removeprefix('pair_')}" for act in CHOICES)


def decides_on_machine(cycle: Cycle) -> bool:
    """Whether the newest event is what a person decided on a machine."""
    newest = cycle.newest
    return newest.modality is Modality.DECISION and str(newest.params.get("approval", "")).startswith(BUTTON)


async def pair(cycle: Cycle, phrase: Phrase) -> Delivery | None:
    """Answer and commit; returns the first post, claimed for sending.

    Raises StoreError, LostLease, and ReadersChanged where the code is another thing by now, or others read along.
    """
    services, newest = cycle.services, cycle.newest
    if newest.modality is Modality.DECISION:
        effect = await _decided(cycle)
    elif newest.place is Place.TERMINAL or key_of(newest.author) is not None:
        return await say(cycle, cycle.words.say("pair_in_slack"))
    else:
        effect = await _typed(cycle, phrase.words)
    await cycle.require_same_readers()
    delivery = await services.commits.commit(effect)
    services.news.tell()  # for the machine that waits
    services.emit("pairing.heard", command=Command.PAIR, trace=cycle.trace_id)
    return delivery


async def _typed(cycle: Cycle, code: str) -> CycleEffect:
    services, newest = cycle.services, cycle.newest
    weighed = await services.pairings.weigh(code, newest.author)
    if newest.place is not Place.DM:
        return _effect(cycle, cycle.words.say("pair_in_dm"), CodeTyped(code, weighed, ""))
    if weighed.typed is not Typed.RIGHT or weighed.pairing is None:
        return _effect(cycle, cycle.words.say(_SENTENCES[weighed.typed]), CodeTyped(code, weighed, ""))
    approval = f"{BUTTON}{secrets.token_hex(8)}"
    effect = _effect(cycle, _question(cycle, weighed), CodeTyped(code, weighed, approval))
    new = NewApproval(approval, Command.PAIR.value, {}, (newest.author,), weighed.pairing.until_ms)
    return replace(effect, approval=new)


def _question(cycle: Cycle, weighed: WeighedCode) -> str:
    """What the person is asked; the machine's name is anybody's text, and stands there as such."""
    assert weighed.pairing is not None  # it is right
    say, machine = cycle.words.say, plain_sight(clean_name(weighed.pairing.machine))
    choices = "\n".join(f"- {say(one)}" for one in _CHOOSE)
    return "\n\n".join((say("pair_asks"), code_block(machine), say("pair_beware"), choices))


async def _decided(cycle: Cycle) -> CycleEffect:
    """The rights are those of the button that the person pressed; any other decision gives none."""
    newest, say = cycle.newest, cycle.words.say
    approval = str(newest.params["approval"])
    found = await cycle.services.pairings.asked_by(approval)
    if newest.params.get("expired"):
        return _effect(cycle, "")
    if found is None or found.person != newest.author:
        return _effect(cycle, say("pair_unknown"))
    own = newest.params.get("approved") is True and newest.params.get("by") == newest.author
    rights = CHOICES.get(str(newest.params.get("answer"))) if own else None
    key = new_key_id() if rights else ""
    text = say("pair_done", id=key) if rights else say("pair_not_done")
    return _effect(cycle, text, MachineDecided(approval, found.id, key, rights))


def _effect(cycle: Cycle, text: str, *acts: MemoryAct) -> CycleEffect:
    claim, newest = cycle.claim, cycle.newest
    parts = cycle.channel.split(text, claim.conversation, cycle.hosts) if text else ()
    return replace(
        effect_of_words(cycle, parts, ()),
        acts=acts,
        asker=Asker(newest.author, claim.conversation, claim.audience, newest.ts),
        rooms=cycle.readers.rooms,
    )
