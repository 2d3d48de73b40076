"""Whether an event comes from its source: HMAC-SHA256, as standardwebhooks.com describes it or as GitHub signs."""

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Final

from daemon.core.event_sources import Signing

SKEW_S: Final = 300
"""How far the clock of a source may be from ours."""

_ID: Final = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
_MOST_SIGNATURES: Final = 8
_DIGITS: Final = re.compile(r"[0-9]{1,12}")


def signed_id(signing: Signing, key: bytes, headers: Mapping[str, str], body: bytes, now_s: float) -> str | None:
    """The id of an event whose signature is right; None for any other.

    GitHub signs neither id nor time: there the signed body is the id, so that it is never taken twice.
    """
    if signing is Signing.GITHUB:
        made = hmac.digest(key, body, hashlib.sha256).hex()
        given = headers.get("X-Hub-Signature-256", "")
        return f"github:{made}" if _same(f"sha256={made}", given) else None
    id_, at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    made = base64.b64encode(hmac.digest(key, b".".join((id_.encode(), at.encode(), body)), hashlib.sha256)).decode()
    signatures = headers.get("webhook-signature", "").split(" ")[:_MOST_SIGNATURES]
    right = any(_same(f"v1,{made}", one) for one in signatures)
    in_time = bool(_DIGITS.fullmatch(at)) and abs(now_s - int(at)) <= SKEW_S
    return id_ if right and in_time and _ID.fullmatch(id_) else None


def _same(made: str, given: str) -> bool:
    """Compared in constant time, so that timing gives nothing of the right one away."""
    return hmac.compare_digest(made.encode(), given.encode("utf-8", "surrogateescape"))
