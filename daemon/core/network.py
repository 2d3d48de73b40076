"""Tells addresses on this machine from all others."""

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Whether a host name or an IP address without brackets is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def is_clear_text_abroad(url: str) -> bool:
    """Whether what is sent to an address leaves this machine unencrypted."""
    try:
        parts = urlsplit(url)
        return parts.scheme.lower() == "http" and not is_loopback((parts.hostname or "").lower())
    except ValueError:
        return True
