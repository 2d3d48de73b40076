"""The lobby of seed 003 as a program beside the daemons: it joins a game, takes its turns, and sees who is there.

    .venv/bin/python docs/examples/lobby.py SOUL_HOME NAME TURNS

Each player is a process. The game begins with the second player, waits while there is one alone, and ends after so
many turns; `soul context set game-lobby '{}'` makes room for the next one.
"""

import asyncio
import sys
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from daemon.shared.contexts import SharedContext, open_shared_contexts


class Game(BaseModel):
    """What all players share."""

    players: list[str] = []
    phase: Literal["lobby", "playing", "finished"] = "lobby"
    turns: int = 0


def moved(seen: Game, *, name: str, present: Collection[str], last: int) -> Game:
    """The game after what this player has to do; it is asked again with the newest game where another was faster."""
    if seen.phase == "finished":
        return seen
    players = [one for one in seen.players if one in present and one != name]
    players = sorted([*players, name])
    if len(players) < 2:  # noqa: PLR2004 - nobody plays alone
        return Game(players=players, turns=seen.turns)
    turns = seen.turns + (players[seen.turns % len(players)] == name)
    return Game(players=players, phase="finished" if turns >= last else "playing", turns=turns)


async def play(home: Path, name: str, last: int) -> None:
    """Take part until the game is over."""
    async with open_shared_contexts(home / "memory.db", name) as contexts:
        game = contexts.use_shared_context("game-lobby", Game)
        await game.ready()
        await game.awareness.set_local_state({"status": "here", "turns": 0})
        while True:
            told = contexts.news.count
            states = await game.awareness.get_states()  # of who was killed there is none
            await game.update(partial(moved, name=name, present=states.keys(), last=last))
            await game.awareness.set_local_state_field("turns", game.data.turns)
            tell(game)
            if game.data.phase == "finished":
                return
            await contexts.news.heard(told)  # by somebody's change, or after two seconds


def tell(game: SharedContext[Game]) -> None:
    """Print the game as it is now."""
    sys.stdout.write(f"{game.version} {game.data.model_dump_json()}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(play(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
