"""What people decide of their own memory over HTTP: the same whole phrases, obeyed without a model."""

import json

import pytest

from tests.http.daemons import HttpHome

_KNOWN = "what do you know about me"


class Session:
    """One session's messages and the whole answers to them."""

    def __init__(self, home: HttpHome, name: str) -> None:
        self._home = home
        self._name = name
        self._count = 0

    async def say(self, words: str) -> str:
        """The answer to a message."""
        self._count += 1
        done = await self._home.say(words, self._name, f"{self._name}-{self._count}")
        return str(done.data["text"])


@pytest.fixture
def session(home: HttpHome) -> Session:
    return Session(home, "s")


async def test_a_client_shows_corrects_exports_and_ends_what_is_known(home: HttpHome, session: Session) -> None:
    assert await session.say("remember that I look after the imports") == "Noted: I look after the imports"
    assert "1. I look after the imports (" in await session.say(_KNOWN)
    assert "> I look after the imports" in await session.say("why 1")
    exported = json.loads((await session.say("export my memory")).split("```json\n")[1].split("\n```")[0])
    assert [fact["text"] for fact in exported["facts"]] == ["I look after the imports"]
    assert exported["messages"][0]["text"] == "remember that I look after the imports"
    assert await session.say("wrong 1: I look after all exports") == "Corrected: 1 now says: I look after all exports"
    known = await session.say(_KNOWN)
    assert "I look after all exports" in known
    assert "imports" not in known
    assert "yes, forget me" in await session.say("forget me")
    assert (await session.say("yes, forget me")).startswith("Forgotten:")
    assert (await session.say(_KNOWN)).startswith("I have noted nothing about you.")
    assert "exports" not in (await session.say("export my memory"))
    assert home.model.prompts == []
