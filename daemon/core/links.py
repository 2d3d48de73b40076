"""The hosts of web addresses in a text, and which of them a reply may link to."""

import html
import re
from collections.abc import Callable, Iterable
from typing import Final
from urllib.parse import urlsplit

from daemon.core.lru import Lru

# Endings that make a bare word look like a host. Countries whose ending is also a file's (.py, .md, .rs) are left out.
ENDINGS: Final = (
    "com|org|net|edu|gov|mil|int|info|biz|name|io|ai|app|dev|cloud|site|online|store|tech|xyz|club|page|link|team|bank|me|"
    "co|us|uk|eu|de|fr|es|it|nl|be|ch|at|se|no|dk|fi|pt|ie|ru|ua|cn|jp|kr|in|au|nz|ca|br|mx|ar|za|tr|gr|cz|to|ly|gg|tv|fm"
)
HOST: Final = re.compile(
    rf"(?:https?://|www\.)[^\s/?#)\]]+|(?<![\w.-])(?:[\w-]+\.)+(?:{ENDINGS})(?![\w-]|\.\w)|(?<=@)[\w.-]+\.\w+",
    re.IGNORECASE,
)
_LONGEST_TEXT: Final = 100_000  # characters of one text that are searched for hosts
_MOST_HOSTS: Final = 500

Trusted = Callable[[str], bool]
"""Whether a reply may link to a host; the host is bare, in lower case."""


class KnownHosts:
    """The hosts that users, the admin or the soul's own files have named: a reply may link to them.

    A host of the admin's setting covers the hosts below it; a host from a text stands for itself alone.
    """

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        self._allowed = tuple(bare_host(one) for one in allowed if one.strip())
        self._named = Lru[str, None](_MOST_HOSTS)

    def learn(self, *texts: str) -> None:
        """Add the hosts that texts name; the oldest fall out where there are too many."""
        for text in texts:
            for found in HOST.findall(text[:_LONGEST_TEXT]):
                host = re.sub(r"[^\w.-].*", "", bare_host(found)).rstrip(".")
                self._named[host] = None

    def __call__(self, host: str) -> bool:
        """Whether the host may be linked to."""
        return host in self._named or any(host == one or host.endswith(f".{one}") for one in self._allowed)


def bare_host(host: str) -> str:
    """A host without scheme, user, `www.`, port and final dot, in lower case."""
    without_scheme = re.sub(r"^https?://", "", host.strip().lower()).rpartition("@")[2]
    return without_scheme.removeprefix("www.").partition(":")[0].rstrip(".")


def authority(address: str) -> str:
    """What stands between `//` and the path; `@` where the address can't be read."""
    try:
        return urlsplit(address.replace("\\", "/")).netloc
    except ValueError:  # such as an unfinished IPv6 address
        return "@"


def host_of(address: str) -> str:
    """The bare host that an address leads to; empty where it names none."""
    if address.lower().startswith("mailto:"):
        return bare_host(address.partition("?")[0].rpartition("@")[2])
    return bare_host(authority(address) or re.split(r"[/?#]", address, maxsplit=1)[0])


def plain_host(address: str) -> str:
    """The host of an `http(s)://` address that every program reads the same way; empty for any other.

    A user's name, a backslash or an encoded character in the authority could lead elsewhere than it seems.
    """
    found = re.match(r"https?://([^/?#]*)", html.unescape(address), re.IGNORECASE)
    if found is None or not re.fullmatch(r"[\w.-]+(?::\d{1,5})?", found[1]):
        return ""
    return bare_host(found[1])
