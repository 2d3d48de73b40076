"""Tells addresses on this machine from all others."""

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Whether a host name or an IP address without brackets is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
