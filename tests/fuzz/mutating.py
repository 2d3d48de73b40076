"""Payloads made odd: fields dropped, doubled, swapped, of other types, endless, nested, empty, in other alphabets."""

import copy
from collections.abc import Sequence
from random import Random
from typing import Any, Final

from daemon.local_slack.model import Json

ODD: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 2**63, 10**400, 1.5, "", " ", "\x00", "\ud800", "\u202eevil", "null", "U0ADA", "T9"),
    *("x" * 20_000, "<@U0SOUL>" * 500, "😀" * 3_000, "../../etc/passwd", "'; DROP TABLE inbox; --", "1" * 5_000),
    *([], {}, [[]], {"": {}}, [None], {"text": None}, ["U0ADA"], {"id": ["U0ADA"]}, {"id": {"id": "U0ADA"}}),
    *("0.0", "9999999999999.1", "1e309", "NaN", "-1.000000", "soul_feedback", "D0ADA", "C0GENERAL", "\n" * 2_000),
)
_DEEP: Final = 60


def odd_value(dice: Random, more: Sequence[Any] = ()) -> Any:  # noqa: ANN401  # any JSON
    if dice.random() < 0.05:
        value: Any = "x"
        for _ in range(_DEEP):
            value = {"text": value} if dice.random() < 0.5 else [value]
        return value
    return copy.deepcopy(dice.choice([*ODD, *more]))


def mutated(payload: Json, dice: Random, more: Sequence[Any] = ()) -> Json:
    """A copy with one to four changes at places drawn by the dice."""
    changed = copy.deepcopy(payload)
    for _ in range(dice.randint(1, 4)):
        places = list(_places(changed))
        if not places:
            return changed
        holder, key = dice.choice(places)
        match dice.randrange(5):
            case 0:
                del holder[key]
            case 1:
                other_holder, other_key = dice.choice(places)
                holder[key] = copy.deepcopy(other_holder[other_key])
            case 2 if isinstance(holder, list):
                holder.extend(copy.deepcopy(holder[key]) for _ in range(dice.choice((1, 40))))
            case _:
                holder[key] = odd_value(dice, more)
    return changed


def _places(value: object) -> Any:  # noqa: ANN401  # pairs of a container and a key of it
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(pairs):
        yield value, key
        yield from _places(inner)
