"""What is said, and what helps, where the embedder's vectors have another length than those that are stored.

So it is when an endpoint serves another model under the same name. Vectors of two lengths are never compared: full
text serves, and what is to be embedded waits, since a model that is wrong for an hour must not cost every vector.
"""

from typing import Final

HINT: Final = (
    "if SOUL_EMBEDDER_MODEL is the one you mean, `soul memory rebuild` makes all vectors anew; no restart is needed"
)
"""What to do about it."""


def other_length(given: int, stored: int) -> str:
    """What is wrong; both are how many numbers a vector has."""
    return f"the embedder's vectors have {given} numbers, those that are stored {stored}"
