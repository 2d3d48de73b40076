"""Who is meant by a name: people of whom those who read there may know."""

from typing import Final

from daemon.core.perception import ConversationKey, Readers
from daemon.core.words import words_of
from daemon.memory.database import one_of
from daemon.memory.worker_store import WorkerStore

_MOST_PEOPLE: Final = 5_000


class PeopleNames(WorkerStore):
    """The names by which one worker's soul knows people."""

    async def named(self, name: str, where: ConversationKey, readers: Readers) -> tuple[str, ...]:
        """The people (platform ids) who are called so, of those whom the readers of a reply may know.

        Those who are called exactly so come before those of whose name it is a part.
        """
        called = set(words_of(name))
        among, values = one_of(str(one) for one in readers.may_know(where.workspace))
        if not called or not values:
            return ()
        rows = await self._database.rows(
            f"""
            SELECT DISTINCT person, name FROM user_models
            WHERE soul = :soul AND workspace = :workspace AND audience IN {among} LIMIT {_MOST_PEOPLE}
            """,  # noqa: S608 - names of values, and a constant
            **values,
            **self._worker.scope,
        )
        names = [(row["person"], set(words_of(row["name"]))) for row in rows]
        exactly = {person for person, words in names if words == called}
        return tuple(sorted(exactly or {person for person, words in names if called <= words}))
