"""People: who may talk to the soul."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GateDecision:
    """Whether a user may talk to the soul here, under which name, and if not, why.

    `reason` is a short code for the inbox row; `say` a polite sentence of `core/sentences.py`, empty where no reply is
    right. `outsider` says that the user isn't known to be a full member of the workspace, whether admitted or not.
    `language` is the tag of the user's language, empty if unknown. `zone` is the IANA name of the user's time
    zone, empty if the platform doesn't say. `bot` says that the author is a program.
    """

    admitted: bool
    name: str = ""
    reason: str = ""
    say: str = ""
    outsider: bool = False
    language: str = ""
    zone: str = ""
    bot: bool = False
