"""The companion of a session of Claude Code: the plugin's MCP server, which lives and ends with the session.

It passes the session's calls on to the daemon's MCP, and holds one long poll there: while that is open the session is
there, and what people ask comes over it. With that it wakes the session while it rests. It needs Python's standard
library alone, and starts without a daemon, too: then each call says so.
"""

import sys

sys.dont_write_bytecode = True

import http.client
import json
import os
import socket
import threading
import time
from urllib.parse import quote

sys.path.append(os.path.dirname(os.path.abspath(__file__)))  # which -I leaves out

from session_event import Spool, process_of
from soul_address import address, settings

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
WAIT_S = 25
CONNECT_S = 10.0
ANSWER_S = 1000.0  # a little longer than the daemon waits for a reply of the soul
WAKE_S = 5.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 5.0
LARGEST = 4 * 1024 * 1024
MOST_CALLS = 16  # at once
NO_KEY = (
    "There is no key. What to do: have the soul's admin make one with `soul sessions keys add`, and set it as an "
    "option of the plugin soul, or write it with the address into ~/.config/soul/session.json (chmod 600)."
)
TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tools.json")


class Unreached(Exception):
    """The daemon could not be asked; the text says why, and what to do."""


class Daemon:
    """The daemon as one key reaches it. Each connection is made anew where the one before it broke."""

    def __init__(self):
        self.url, self.key = settings()
        self.line = None

    def ask(self, method, path, body=None, wait_s=ANSWER_S):
        """The status, headers and body of one answer. Raises Unreached."""
        if not self.key:
            raise Unreached(NO_KEY)
        try:
            line = self.line or self.connected(wait_s)
            self.line = None
            if line.sock is not None:
                line.sock.settimeout(wait_s)
            head = {"Authorization": "Bearer " + self.key, "Accept": "application/json, text/event-stream"}
            if body is not None:
                head["Content-Type"] = "application/json"
            line.request(method, self.path + path, body, head)
            answer = line.getresponse()
            raw = answer.read(LARGEST)  # of a larger one the rest is lost, which then is no JSON
        except (OSError, ValueError, http.client.HTTPException) as error:
            reason = str(error)[:200] or type(error).__name__
            what_to_do = "What to do: start it with `soul run`, or set SOUL_URL to where it is; then try again."
            raise Unreached("The daemon can't be reached at %s: %s. %s" % (self.url, reason, what_to_do)) from None
        if answer.isclosed() and not answer.will_close:
            self.line = line
        return answer.status, answer.headers, raw

    def connected(self, wait_s):
        tls, host, port, self.path = address(self.url)
        kind = http.client.HTTPSConnection if tls else http.client.HTTPConnection
        line = kind(host, port, timeout=CONNECT_S)
        line.connect()
        line.sock.settimeout(wait_s)
        return line


class Companion:
    """One session's companion; `told` is the id of the session that runs in its process now, as the daemon says."""

    def __init__(self):
        self.process = process_of(session_pid())[1][:400]
        self.told = ""
        self.version = VERSIONS[0]
        self.writing = threading.Lock()
        self.calls = threading.BoundedSemaphore(MOST_CALLS)

    def serve(self):
        """Answer the session's messages until it closes our input, which it does as it ends, however it does."""
        threading.Thread(target=self.poll, daemon=True).start()
        for line in sys.stdin.buffer:
            try:
                message = json.loads(line.decode("utf-8"))
            except (ValueError, RecursionError):
                self.say({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "This is no JSON."}})
                continue
            if not isinstance(message, dict) or "method" not in message or "id" not in message:
                continue  # notices and answers, of which none is expected
            self.calls.acquire()
            threading.Thread(target=self.answer, args=(message,), daemon=True).start()

    def answer(self, message):
        """Answer one request."""
        try:
            said = self.answered(message)
        except Exception as error:  # noqa: BLE001 - one odd message must not end the others
            said = {"error": {"code": -32603, "message": type(error).__name__}}
        finally:
            self.calls.release()
        self.say(dict({"jsonrpc": "2.0", "id": message["id"]}, **said))

    def answered(self, message):
        method, given = message["method"], message.get("params")
        given = given if isinstance(given, dict) else {}
        if method == "initialize":
            wanted = given.get("protocolVersion")
            self.version = wanted if wanted in VERSIONS else VERSIONS[0]
            with open(TOOLS, encoding="utf-8") as file:
                about = json.load(file)
            return {"result": dict(about["server"], protocolVersion=self.version, capabilities={"tools": {}})}
        if method == "ping":
            return {"result": {}}
        if method == "tools/list":
            return self.listed(message)
        if method == "tools/call":
            return self.called(message, given)
        return {"error": {"code": -32601, "message": "There is no method %s." % str(method)[:80]}}

    def listed(self, message):
        """The tools as the daemon offers them; without one, those of this version."""
        try:
            return self.relayed(message)
        except Unreached:
            with open(TOOLS, encoding="utf-8") as file:
                return {"result": {"tools": json.load(file)["tools"]}}

    def called(self, message, given):
        """Use a tool; the call says itself which session it comes from, where the tool takes that."""
        arguments = given.get("arguments")
        if self.told and isinstance(arguments, (dict, type(None))) and given.get("name") in self.of_a_session():
            arguments = dict({"session": self.told}, **(arguments or {}))
            message = dict(message, params=dict(given, arguments=arguments))
        try:
            return self.relayed(message)
        except Unreached as error:
            return {"result": {"content": [{"type": "text", "text": str(error)}], "isError": True}}

    def of_a_session(self):
        """The names of the tools that take a session."""
        with open(TOOLS, encoding="utf-8") as file:
            tools = json.load(file)["tools"]
        return [one["name"] for one in tools if "session" in one["inputSchema"].get("properties", {})]

    def relayed(self, message):
        """What the daemon answers to a request. Raises Unreached."""
        status, headers, raw = Daemon().ask("POST", "/mcp", json.dumps(message).encode("ascii"))
        try:
            found = read_answer(headers.get("Content-Type", ""), raw.decode("utf-8"), message["id"])
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict) and "error" in found and "jsonrpc" not in found:
            error = found["error"] if isinstance(found["error"], dict) else {}
            hint = " What to do: %s." % error["hint"] if error.get("hint") else ""
            raise Unreached("%s%s" % (error.get("message") or "The daemon refuses that.", hint))
        if not isinstance(found, dict) or not found.keys() & {"result", "error"}:
            raise Unreached("The daemon answered with status %d. What to do: see its log." % status)
        return {name: found[name] for name in ("result", "error") if name in found}

    def say(self, message):
        """Write one message to the session."""
        with self.writing:
            sys.stdout.buffer.write(json.dumps(message).encode("ascii") + b"\n")
            sys.stdout.buffer.flush()

    def poll(self):
        """Wait at the daemon for what the session is to be woken with, for as long as the session lives."""
        daemon, pause = Daemon(), FIRST_PAUSE_S
        while True:
            began = time.monotonic()
            where = "/api/sessions/%s/notes?wait=%d&process=%s&wakes=%s" % (
                self.told or "this",
                WAIT_S,
                quote(self.process, safe=""),
                "yes" if can_wake() else "no",
            )
            try:
                status, headers, raw = daemon.ask("GET", where, wait_s=WAIT_S + CONNECT_S)
                if status == 200:
                    self.told = headers.get("Soul-Session", "")
                    for note in json.loads(raw.decode("utf-8")):
                        self.wake(daemon.url, str(note["id"]), str(note["text"]))
                    pause = FIRST_PAUSE_S
            except (Unreached, ValueError, KeyError, TypeError, RecursionError):
                status = 0
            if status != 200 or time.monotonic() - began < FIRST_PAUSE_S:
                time.sleep(pause)
                pause = min(LONGEST_PAUSE_S, pause * 2)
                daemon = daemon if status == 200 else Daemon()  # the key may be another one by now

    def wake(self, url, note, text):
        """Have the session begin a turn with a note. If it does not, the daemon sees that no turn began."""
        try:
            Spool(url).note_woken(self.process, note, text)
            write_to_session(text)
        except (OSError, ValueError):
            pass


def session_pid():
    """The process of the session, which started this one."""
    return os.getppid()


def can_wake():
    """Whether the session has a socket on which it takes messages."""
    env = os.environ
    return bool(env.get("CLAUDE_CODE_MESSAGING_SOCKET") and env.get("CLAUDE_CODE_MESSAGING_TOKEN"))


def write_to_session(text):
    """Write a message to the session on its socket: the one place that knows how. Raises OSError.

    Anthropic documents neither line; both were found by trying them with the client 2.1.329.
    """
    lines = (
        {"type": "auth", "token": os.environ["CLAUDE_CODE_MESSAGING_TOKEN"]},
        {"type": "user", "message": {"role": "user", "content": text}},
    )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(WAKE_S)
        line.connect(os.environ["CLAUDE_CODE_MESSAGING_SOCKET"])
        line.sendall(b"".join(json.dumps(one).encode("ascii") + b"\n" for one in lines))


def read_answer(kind, text, wanted):
    """The answer to a request, as JSON or as the event of a stream that holds it; None for none."""
    if not kind.startswith("text/event-stream"):
        return json.loads(text)
    for event in text.replace("\r\n", "\n").split("\n\n"):
        data = "\n".join(line[5:].strip() for line in event.split("\n") if line.startswith("data:"))
        found = json.loads(data) if data else None
        if isinstance(found, dict) and found.get("id") == wanted:
            return found
    return None


if __name__ == "__main__":
    try:
        Companion().serve()
    except (KeyboardInterrupt, BrokenPipeError):
        pass
    finally:
        os._exit(0)  # at once, with the threads that still wait
