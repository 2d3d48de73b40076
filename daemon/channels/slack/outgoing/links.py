"""Checks whether a link leads where its label says."""

import re
import unicodedata
from urllib.parse import urlsplit

_SCHEMES = frozenset({"http", "https", "mailto"})
# Endings that make a bare word look like a host. Countries whose ending is also a file's (.py, .md, .rs) are left out.
_ENDINGS = (
    "com|org|net|edu|gov|mil|int|info|biz|name|io|ai|app|dev|cloud|site|online|store|tech|xyz|club|page|link|team|bank|me|"
    "co|us|uk|eu|de|fr|es|it|nl|be|ch|at|se|no|dk|fi|pt|ie|ru|ua|cn|jp|kr|in|au|nz|ca|br|mx|ar|za|tr|gr|cz|to|ly|gg|tv|fm"
)
_HOST = re.compile(
    rf"(?:https?://|www\.)[^\s/?#)\]]+|(?<![\w.-])(?:[\w-]+\.)+(?:{_ENDINGS})(?![\w-]|\.\w)|(?<=@)[\w.-]+\.\w+",
    re.IGNORECASE,
)


def allowed_scheme(scheme: str) -> bool:
    """Whether a link of this scheme may work: http, https and mailto."""
    return scheme.lower() in _SCHEMES


def honest(label: str, address: str) -> bool:
    """Whether every host that a label names is the address's own host or a domain above it."""
    named = [_bare(host) for host in _HOST.findall(_plain(label))]
    host = _host_of(address)
    return all(host == name or host.endswith(f".{name}") for name in named) and "@" not in _authority(address)


def _plain(label: str) -> str:
    """The label as a reader sees it: compatibility forms folded, invisible characters removed."""
    folded = unicodedata.normalize("NFKC", label)
    return "".join(character for character in folded if unicodedata.category(character) not in {"Cf", "Mn"})


def _bare(host: str) -> str:
    without_scheme = re.sub(r"^https?://", "", host.lower()).rpartition("@")[2]
    return without_scheme.removeprefix("www.").partition(":")[0].rstrip(".")


def _authority(address: str) -> str:
    try:
        return urlsplit(address.replace("\\", "/")).netloc
    except ValueError:  # such as an unfinished IPv6 address
        return "@"


def _host_of(address: str) -> str:
    if address.lower().startswith("mailto:"):
        return _bare(address.partition("?")[0].rpartition("@")[2])
    return _bare(_authority(address) or re.split(r"[/?#]", address, maxsplit=1)[0])
