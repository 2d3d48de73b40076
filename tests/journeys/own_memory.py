"""For journeys about one's own memory: facts noted as the daemon notes them, and a search for words in every file."""

from pathlib import Path

from daemon.core.perception import Audience, ConversationKey
from daemon.memory.database import Transaction
from daemon.memory.knowledge.records.kinds import Fact, Topic, Trust
from daemon.memory.knowledge.records.links import Link, Relation
from daemon.memory.knowledge.records.store import put
from tests.journeys.house import House

KNOWN = "what do you know about me?"


async def note(
    house: House, person: str, text: str, quote: str, *, topic: Topic = Topic.WORK, by: str = "", about: str = ""
) -> str:
    """Note a fact from a person's own turn that holds the quotation; a claim, if it is said `by` another."""
    database, now = house.built.store.database, house.clock.now_ms()
    row = await database.one(
        "SELECT * FROM turns WHERE author = :author AND body LIKE '%' || :quote || '%' ORDER BY seq DESC",
        author=by or person,
        quote=quote,
    )
    assert row is not None
    where, evidence = ConversationKey.parse(row["conversation"]), f"TU_{row['seq']}"

    async def unit(transaction: Transaction) -> str:
        fact = Fact(
            soul=where.soul,
            workspace=where.workspace,
            audience=Audience.parse(row["audience"]),
            channel=where.channel,
            conversation=str(where),
            person=person,
            trust=Trust.CLAIM if by else Trust.OWN,
            text=text,
            at_ms=now,
            subject=about or person,
            predicate="is",
            object=text,
            topic=topic,
            claimed_by=by or person,
            valid_from_ms=now,
        )
        return (await put(transaction, fact, now, [Link("", Relation.EVIDENCE, evidence, quote)])).id

    return await database.write(unit)


async def forget(house: House, person: str = "Ada") -> str:
    """Have a person forgotten by their own words; gives what they are told."""
    assert "yes, forget me" in await house.answered(person, "dm", "forget me")
    return await house.answered(person, "dm", "yes, forget me")


def files_with(folder: Path, *words: str) -> list[str]:
    """The files below a folder that hold one of the words anywhere in their bytes, in any case of letters."""
    needles = [word.lower().encode() for word in words]
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "backups" not in path.parts:
            content = path.read_bytes().lower()
            found += [f"{path.relative_to(folder)}: {needle.decode()}" for needle in needles if needle in content]
    return found


async def shared_files(house: House) -> list[dict[str, str]]:
    """The files that the soul has shared with Ada."""

    async def look() -> list[dict[str, str]] | None:
        posts = await house.people.messages("D0ADA", thread="*")
        return [file for post in posts for file in post.get("files") or ()] or None

    return await house.until(look)


def content_of(house: House, file: str) -> bytes:
    """The bytes of a shared file."""
    return house.workspace.workspace.state.files[file].content
