#!/usr/bin/env python3
"""Gets a key for the sessions of Claude Code here: shows a code, which its person writes to the soul in Slack.

    python3 pair.py [URL]           shows the code, waits for the click, and writes ~/.config/soul/session.json
    python3 pair.py --begin [URL]   shows the code alone
    python3 pair.py --finish        waits for the click on that code, for at most a minute and a half

It needs Python's standard library alone. The key is never printed.
"""

import sys

sys.dont_write_bytecode = True

import http.client
import json
import os
import re
import shlex
import socket
import time

sys.path.append(os.path.dirname(os.path.abspath(__file__)))  # which -I leaves out

from soul_address import address, kept_path, plain, settings

POLL_S = 20  # how long the daemon holds one request
NET_S = 40
PAUSE_S = 3.0  # after an answer that came at once, or none
FINISH_S = 90  # what --finish waits at most, since a session's shell is cut off after two minutes
LARGEST_ANSWER = 64 * 1024
CODE = re.compile(r"[A-Z]{4}-[A-Z]{4}")
KEY = re.compile(r"[A-Za-z0-9_-]{20,200}")


class Failed(Exception):
    """What a person is told, and that is the end."""


class Unreachable(Exception):
    """Nothing that is a daemon answered; it may do so later."""


class Daemon:
    """The daemon at an address over which a key may go. Raises Failed for any other."""

    def __init__(self, url):
        try:
            self.tls, self.host, self.port, self.path = address(url)
        except ValueError as error:
            raise Failed(
                "%s can't be used: %s." % (shown(url), str(error).replace("SOUL_URL", "the address"))
            ) from None

    def ask(self, method, path, body=None, secret=""):
        """The status and the answer. Raises Unreachable."""
        kind = http.client.HTTPSConnection if self.tls else http.client.HTTPConnection
        line = kind(self.host, self.port, timeout=NET_S)
        headers = {"Authorization": "Bearer " + secret} if secret else {}
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            line.request(method, self.path + path, None if body is None else json.dumps(body), headers)
            response = line.getresponse()
            answer = json.loads(response.read(LARGEST_ANSWER).decode("utf-8"))
        except (OSError, ValueError, RecursionError, http.client.HTTPException) as error:
            raise Unreachable(shown(str(error)) or type(error).__name__) from None
        finally:
            line.close()
        return response.status, answer if isinstance(answer, dict) else {}


def begin(url):
    """Ask for a code and show it; gives what the key is fetched with. Raises Failed."""
    try:
        status, answer = Daemon(url).ask("POST", "/api/pair", {"machine": machine()})
    except Unreachable as error:
        raise Failed("No daemon answers at %s (%s). Is it the right address?" % (shown(url), error)) from None
    if status != 200:
        raise Failed("The daemon gives no code: %s" % reason(answer))
    code, secret = str(answer.get("code")), str(answer.get("secret"))
    if not CODE.fullmatch(code) or not KEY.fullmatch(secret):
        raise Failed("What answers at %s is no daemon that can pair." % shown(url))
    say("Write this to %s in Slack, as a direct message, within ten minutes:" % shown(str(answer.get("soul"))))
    say("\n    pair %s\n" % code)
    say("It shows you the name %s and asks what the key may. The daemon is at %s." % (machine(), shown(url)))
    return {"url": url, "code": code, "secret": secret}


def finish(begun, until):
    """Wait for the click until then, by the monotonic clock; writes the key. False where nobody has decided yet."""
    daemon = Daemon(begun["url"])
    while True:
        asked = time.monotonic()
        wait = int(max(0, min(POLL_S, until - asked)))
        try:
            status, answer = daemon.ask("GET", "/api/pair/%s?wait=%d" % (begun["code"], wait), secret=begun["secret"])
        except Unreachable:
            status, answer = 503, {}
        if status == 200:
            keep(begun["url"], answer)
            return True
        if status not in (202, 429, 503):
            raise Failed("This machine is not paired: %s" % reason(answer))
        if time.monotonic() >= until:
            return False
        if status != 202 or time.monotonic() - asked < 1:
            time.sleep(min(PAUSE_S, max(0.0, until - time.monotonic())))


def keep(url, answer):
    """Write address and key into the user's own file, and say whose the key is."""
    key = str(answer.get("key"))
    if not KEY.fullmatch(key):
        raise Failed("The daemon gave no key that can be used. Begin again.")
    write(kept_path(), {"url": url, "key": key})
    others = {"hidden": "nothing", "project": "project, branch and state", "topic": "project, branch, state and topic"}
    say("This machine is paired. Its sessions are those of %s (%s)." % (named(answer, "name"), named(answer, "person")))
    say("Others see of them: %s." % others.get(answer.get("visibility"), "project, branch and state"))
    say("What they ask to be kept is %s." % ("kept" if answer.get("remember") is True else "not kept"))
    say("Your direct messages with the soul are %s to them." % ("known" if answer.get("direct") is True else "unknown"))
    say("Sessions that begin from now on join the soul. The key is in %s." % kept_path())
    if settings() != (plain(url), key):
        say("Note: SOUL_URL, SOUL_KEY or the plugin's options are set here, and come before that file.")


def write(path, value):
    """Put a whole file for its user alone in place. Raises Failed."""
    draft = "%s.%s" % (path, os.urandom(6).hex())
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        try:
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                json.dump(value, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
        except OSError:
            remove(draft)
            raise
    except OSError as error:
        raise Failed("%s can't be written: %s." % (path, error.strerror)) from None


def remove(path):
    try:
        os.unlink(path)
    except OSError:
        pass


def begun_path():
    """Where --begin leaves for --finish what the key is fetched with."""
    return os.path.join(os.path.dirname(kept_path()), "pairing.json")


def read_begun():
    try:
        with open(begun_path(), encoding="utf-8") as file:
            private = not os.fstat(file.fileno()).st_mode & 0o077
            begun = json.load(file)
        if private and all(isinstance(begun[name], str) for name in ("url", "code", "secret")):
            return begun
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    raise Failed("Nothing was begun here. Begin with: %s" % command("--begin"))


def command(argument):
    """How this script is run with an argument."""
    return "python3 %s %s" % (shlex.quote(os.path.abspath(__file__)), argument)


def say(text):
    """Print a line at once, in whatever characters the terminal has."""
    sys.stdout.buffer.write((text + "\n").encode(sys.stdout.encoding or "utf-8", "replace"))
    sys.stdout.flush()


def machine():
    """What this machine calls itself."""
    import getpass

    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = "somebody"
    return shown("%s at %s" % (user, socket.gethostname()))[:80]


def reason(answer):
    error = answer.get("error")
    given = error if isinstance(error, dict) else {}
    return "%s %s" % (named(given, "message"), named(given, "hint"))


def named(answer, name):
    return shown(str(answer.get(name) or ""))


def shown(text):
    """A text of others on one line, which can't steer a terminal."""
    return "".join(char if char.isprintable() else "?" for char in text)[:300]


def main(arguments):
    """Pair. Raises Failed."""
    options = [one for one in arguments if one.startswith("-")]
    places = [one for one in arguments if not one.startswith("-")]
    if len(options) > 1 or len(places) > 1 or options not in ([], ["--begin"], ["--finish"]):
        raise Failed(__doc__.partition("\n\n")[2].rstrip())
    if options == ["--finish"]:
        if not finish(read_begun(), time.monotonic() + FINISH_S):
            say("Nobody has clicked yet. Once you have, run: %s" % command("--finish"))
            return
        remove(begun_path())
        return
    begun = begin(plain(places[0]) if places else settings()[0])
    if options == ["--begin"]:
        write(begun_path(), begun)
        say("Then this fetches the key: %s" % command("--finish"))
    elif not finish(begun, time.monotonic() + 660):
        raise Failed("Nobody has clicked in time. Begin again.")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Failed as failed:
        sys.exit(str(failed))
    except KeyboardInterrupt:
        sys.exit(130)
