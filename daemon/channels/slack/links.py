"""Checks whether a link leads where its label says."""

import unicodedata
from typing import Final

from daemon.core.links import HOST, authority, bare_host, host_of

BREAK: Final = "\u2060"
"""A WORD JOINER: invisible, and no mention, mark or address goes on behind it."""

_SCHEMES = frozenset({"http", "https", "mailto"})


def allowed_scheme(scheme: str) -> bool:
    """Whether a link of this scheme may work: http, https and mailto."""
    return scheme.lower() in _SCHEMES


def honest(label: str, address: str) -> bool:
    """Whether every host that a label names is the address's own host or a domain above it."""
    named = [bare_host(host) for host in HOST.findall(_plain(label))]
    host = host_of(address)
    return all(host == name or host.endswith(f".{name}") for name in named) and "@" not in authority(address)


def _plain(label: str) -> str:
    """The label as a reader sees it: compatibility forms folded, invisible characters removed."""
    folded = unicodedata.normalize("NFKC", label)
    return "".join(character for character in folded if unicodedata.category(character) not in {"Cf", "Mn"})
