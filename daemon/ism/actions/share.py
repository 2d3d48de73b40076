"""The action Share: change what souls and people share under a key (seed 003)."""

import json

from daemon.core.contexts import ContextRefused, JSONObject, as_stored, merged
from daemon.core.telemetry.redaction import remove_keys
from daemon.ism.machine import Action, ActionUse, Recurse
from daemon.mind.process import ProcessContext


def share(context: ProcessContext) -> Action | None:
    """Build the action, or return None without shared keys. Its input is a key, a colon and a JSON merge patch."""
    keys = context.cycle.shared_keys
    if not keys:
        return None

    async def handle(use: ActionUse) -> Recurse:
        key, _, patch = use.input.partition(":")
        if key.strip() not in keys:
            return use.recurse(observation=f"There is no such key. Give one of {', '.join(keys)}, a colon and JSON.")
        emit = context.cycle.emit
        try:
            changes = _changes(patch)
            await context.cycle.require_shareable(key.strip(), lambda data: merged(data, changes))
        except ContextRefused as refused:
            emit("context.refused", key=key.strip(), reason=refused.message)
            return use.recurse(observation=f"Nothing was shared: {refused.message}. {refused.hint}")
        context.motor.share(
            key.strip(),
            lambda data: merged(data, changes),
            lambda refused: emit("context.refused", key=key.strip(), reason=refused.message),
        )
        return use.recurse(observation=f"{key.strip()} is changed when you answer.")

    return Action(
        "Share",
        f"change what is shared with souls and people under {', '.join(keys)}; input: the key, a colon, and the fields "
        'as JSON, like `plan: {"phase": "testing"}`; null takes a field away',
        handle,
    )


def _changes(patch: str) -> JSONObject:
    """Parse a JSON merge patch. Raises ContextRefused."""
    try:
        changes = json.loads(remove_keys(patch))
    except (ValueError, RecursionError) as error:
        raise ContextRefused("that is no JSON object", hint="Write the fields as JSON.") from error
    as_stored(changes)
    kept: JSONObject = changes
    return kept
