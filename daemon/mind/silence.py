"""What becomes of it when a soul says nothing."""

from enum import StrEnum


class Silence(StrEnum):
    """Each with the reason that stands in the path of the conversation: `soul mind trace` shows it."""

    REFUSED = "they wait for words"
    UNSEEN = "it was not asked, and said nothing"
    NOD = "it nodded, and said nothing"
