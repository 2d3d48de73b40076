"""Files that messages show: rows that the inbox writes with the message, before anything is fetched."""

from collections.abc import Sequence
from typing import Final

from daemon.core.ports.files import MOST_FILES, SharedFile
from daemon.core.sentences import SENTENCES, Sentence
from daemon.memory.database import Transaction
from daemon.memory.records import as_json, json_object

_MOST_NAMED: Final = 20  # of the files of one message; the rest is not even named


async def store_files(
    transaction: Transaction, conversation: str, ts: str, files: Sequence[SharedFile], now: int
) -> None:
    """Store the files of a message; those beyond the first MOST_FILES are refused, those that are known are kept."""
    for place, file in enumerate(files[:_MOST_NAMED]):
        too_many = place >= MOST_FILES
        await transaction.insert(
            "shared_files",
            "ON CONFLICT DO NOTHING",
            conversation=conversation,
            ts=ts,
            file=file.id,
            name=file.name,
            media_type=file.media_type,
            size=file.size,
            url=file.url,
            state="refused" if too_many else "waiting",
            reason=reason_as_json(Sentence("file_one_too_many", most=MOST_FILES)) if too_many else "",
            heard_ms=now,
        )


async def drop_files(transaction: Transaction, workspace: str, channel: str, ts: str) -> None:
    """Delete the files of a message, whichever soul has it."""
    await transaction.run(
        """
        DELETE FROM shared_files WHERE ts = :ts
          AND EXISTS (SELECT 1 FROM conversations c WHERE c.id = shared_files.conversation
                        AND c.workspace = :workspace AND c.channel = :channel)
        """,
        workspace=workspace,
        channel=channel,
        ts=ts,
    )


def reason_as_json(reason: str) -> str:
    """A sentence with its facts, so that it can be said in any words later."""
    facts = dict(reason.facts) if isinstance(reason, Sentence) else {}
    return as_json({"key": reason.key if isinstance(reason, Sentence) else "file_damaged", "facts": facts})


def reason_from_json(text: str) -> Sentence:
    """What `reason_as_json` wrote; a reason of another version is a general one."""
    try:
        known = json_object(text)
        key, facts = known["key"], known["facts"]
        if key in SENTENCES and isinstance(key, str) and isinstance(facts, dict):
            return Sentence(key, **facts)
    except (ValueError, KeyError):
        pass
    return Sentence("file_damaged")
