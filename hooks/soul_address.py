"""Where the soul's daemon is and with which key, for every script of this folder; over which addresses a key may go.

It stands beside the scripts, works from a copy of the folder alone and needs Python's standard library, of which it
imports little, since a hook reads it at each prompt.
"""

import os

DEFAULT_URL = "http://127.0.0.1:8766"


def settings():
    """(url, key): from SOUL_URL and SOUL_KEY, then from the plugin's options, then from a file of the user's own.

    An address without a key gets one from a later place only where that names the same address: an address that a
    repository sets is not sent the key of the user's own file. The plugin's address has a default, so that without a
    key beside it the file decides. The key is empty where there is none.
    """
    env = os.environ
    wanted, key = env.get("SOUL_URL") or "", env.get("SOUL_KEY") or ""
    if key:
        return plain(wanted), key.strip()
    option, key = env.get("CLAUDE_PLUGIN_OPTION_URL") or "", env.get("CLAUDE_PLUGIN_OPTION_KEY") or ""
    if key and (not wanted or plain(wanted) == plain(option)):
        return plain(option), key.strip()
    kept, key = read_kept()
    if key and (not wanted or plain(wanted) == plain(kept)):
        return plain(kept), key.strip()
    return plain(wanted or option or kept), ""


def plain(url):
    """An address in the one form in which two are compared; the default for none."""
    return url.strip().rstrip("/") or DEFAULT_URL


def kept_path():
    """The file of the user's own."""
    return os.path.join(os.path.expanduser("~"), ".config", "soul", "session.json")


def read_kept():
    """(url, key) of that file; both are empty where it can't be read, or where others could read it too."""
    import json

    try:
        with open(kept_path(), encoding="utf-8") as file:
            private = not os.fstat(file.fileno()).st_mode & 0o077
            kept = json.load(file) if private else {}
        return str(kept.get("url") or ""), str(kept.get("key") or "")
    except (OSError, ValueError, AttributeError, RecursionError):
        return "", ""


def address(url):
    """(tls, host, port, path) of a URL. Raises ValueError for one over which no key may go."""
    scheme, mark, rest = url.partition("://")
    if not mark or scheme not in ("http", "https"):
        raise ValueError("SOUL_URL has to begin with http:// or https://")
    place, _, path = rest.partition("/")
    if "@" in place or not place or any(ord(char) < 33 or ord(char) > 126 for char in rest):
        raise ValueError("SOUL_URL is no plain address")
    if place.startswith("["):
        host, _, port = place[1:].partition("]")
        port = port.lstrip(":")
    else:
        host, _, port = place.partition(":")
    number = int(port) if port else (443 if scheme == "https" else 80)
    if scheme == "http" and not is_loopback(host):
        raise ValueError("over plain http the key goes to this machine alone: use https, or a tunnel")
    return scheme == "https", "127.0.0.1" if host == "localhost" else host, number, "/" + path if path else ""


def is_loopback(host):
    """Whether a host name or address is this machine."""
    parts = host.split(".")
    four = len(parts) == 4 and all(part.isdigit() and int(part) < 256 for part in parts)
    return host in ("localhost", "::1") or (four and parts[0] == "127")
