"""The one hook script: reports what happens in a session of Claude Code to the soul's daemon.

It reads the hook's input from stdin and always exits with 0, in 300 ms at most; stdout is empty or one JSON object.
What can't be sent is kept in files and sent first, in order, by the next run that gets through; what can't be read, or
is refused for good, is counted. It needs Python's
standard library alone and imports little of it, since it runs at each prompt. `--status` prints what it knows instead.
"""

import sys

sys.dont_write_bytecode = True

import _thread
import json
import os
import socket
import time

sys.path.append(os.path.dirname(os.path.abspath(__file__)))  # which -I leaves out

SENT_FIELDS = (
    "session_id", "hook_event_name", "cwd", "source", "model", "permission_mode", "reason", "error",
    "notification_type", "session_title", "prompt_id",
)  # fmt: skip  # prompts and answers stay here, but for answers to what people asked, and unless the key remembers
WORDS = {"UserPromptSubmit": "prompt", "Stop": "last_assistant_message", "PostCompact": "compact_summary"}
READS_THE_ANSWER = ("SessionStart", "UserPromptSubmit", "Stop")
NET_S = 0.15  # from the start of this script to the last moment of the network
END_S = 0.18
PRINT_S = 0.03  # after that, for an answer that came in time
LARGEST_INPUT = 8 * 1024 * 1024
LARGEST_ANSWER = 64 * 1024
MOST_KEPT = 1000
MOST_KEPT_BYTES = 5 * 1024 * 1024
REFUSED = (400, 404, 409, 413, 415, 422)  # the daemon will never take such an event: it is not kept
LONGEST_CONTEXT = 9000
LONGEST_ANSWER = 16000
MOST_ASKED = 50  # files that remember what was handed out and not answered

STARTED = time.monotonic()


class Unsent(Exception):
    """The daemon could not be reached, or what answered was no daemon."""


class Line:
    """One connection to the daemon, on which events go one after the other."""

    def __init__(self, where, key):
        tls, self.host, port, self.path = where
        self.key = key
        try:
            self.socket = socket.create_connection((self.host, port), timeout=left())
            if tls:
                import ssl

                self.socket = ssl.create_default_context().wrap_socket(self.socket, server_hostname=self.host)
        except (OSError, ValueError) as error:
            raise Unsent(str(error)) from None
        shown = "[" + self.host + "]" if ":" in self.host else self.host
        self.name = "%s:%d" % (shown, port)
        self.buffer = b""

    def send(self, body):
        """The status and the answer of the daemon to one event. Raises Unsent."""
        head = (
            "POST %s/api/sessions/events HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"
            "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (self.path, self.name, self.key, len(body))
        )
        try:
            self.socket.settimeout(left())
            self.socket.sendall(head.encode("ascii") + body)
            return self.read()
        except (OSError, ValueError, RecursionError) as error:
            raise Unsent(str(error)) from None

    def read(self):
        while b"\r\n\r\n" not in self.buffer:
            self.more()
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        status = int(lines[0].split(" ")[1]) if lines[0].startswith("HTTP/1.") and " " in lines[0] else 0
        size = 0
        for line in lines[1:]:
            name, _, value = line.partition(":")
            if name.lower() == "content-length":
                size = int(value)
        if not 0 < size <= LARGEST_ANSWER:
            raise Unsent("no answer of a daemon")
        while len(self.buffer) < size:
            self.more()
        raw, self.buffer = self.buffer[:size], self.buffer[size:]
        answer = json.loads(raw.decode("utf-8"))
        expected = "context" if status == 200 else "error"
        if not isinstance(answer, dict) or expected not in answer:
            raise Unsent("no answer of a daemon")
        return status, answer

    def more(self):
        self.socket.settimeout(left())
        piece = self.socket.recv(65536)
        if not piece or len(self.buffer) > LARGEST_ANSWER * 2:
            raise Unsent("the answer broke off")
        self.buffer += piece


def left():
    """Seconds that are left for the network. Raises Unsent where there are none."""
    rest = STARTED + NET_S - time.monotonic()
    if rest <= 0:
        raise Unsent("out of time")
    return rest


class Spool:
    """The events that could not be sent to one daemon yet: a file each, named so that they sort by age."""

    def __init__(self, url):
        import binascii

        state = os.path.join(os.path.expanduser("~"), ".local", "state", "soul")
        self.folder = os.path.join(state, "sessions-%08x" % binascii.crc32(url.encode("utf-8", "replace")))

    def names(self):
        """The kept events, oldest first."""
        try:
            return sorted(name for name in os.listdir(self.folder) if name.endswith(".json"))
        except OSError:
            return []

    def read(self, name):
        with open(os.path.join(self.folder, name), "rb") as file:
            return file.read(MOST_KEPT_BYTES)

    def drop(self, name):
        try:
            os.unlink(os.path.join(self.folder, name))
        except OSError:
            pass

    def keep(self, body):
        """Put an event behind the others, whole or not at all; of too many the oldest go, and are counted."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        names = self.names()
        number = int(time.time() * 1000)
        if names and names[-1][:15].isdigit():
            number = max(number, int(names[-1][:15]) + 1)
        mark = os.urandom(4).hex()
        draft = os.path.join(self.folder, ".%s" % mark)
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(body)
            os.rename(draft, os.path.join(self.folder, "%015d-%s.json" % (number, mark)))
        except OSError:
            os.unlink(draft)
            raise
        self.shrink()

    def shrink(self):
        names = self.names()
        sizes = [self.size(name) for name in names]
        total, gone = sum(sizes), 0
        while len(names) - gone > MOST_KEPT or (total > MOST_KEPT_BYTES and gone < len(names)):
            self.drop(names[gone])
            total -= sizes[gone]
            gone += 1
        if gone:
            self.count_dropped(gone)

    def count_dropped(self, events=1):
        """Count events that are given up: a byte for each, since appending is safe where several do it at once."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        with open(os.path.join(self.folder, "dropped"), "ab") as file:
            file.write(b"." * events)

    def size(self, name):
        try:
            return os.stat(os.path.join(self.folder, name)).st_size
        except OSError:
            return 0

    def asked(self, hook):
        """The file that remembers in which turn a session was handed a note."""
        import binascii

        mark = binascii.crc32(hook["session_id"].encode("utf-8", "replace"))
        return os.path.join(self.folder, "asked-%08x" % mark)

    def note_asked(self, hook, goes_on):
        """Remember that the session read a note in this turn: its next end is the answer, where it then `goes_on`."""
        self.write("asked-", self.asked(hook), "%d %s" % (goes_on, hook.get("prompt_id")))

    def is_answer(self, hook):
        """Whether this end of a turn holds the answer to a note; each note is asked for once."""
        if hook.get("hook_event_name") != "Stop":
            return False
        try:
            with open(self.asked(hook), encoding="utf-8") as file:
                goes_on, _, turn = file.read(400).partition(" ")
            if goes_on == "1" and hook.get("stop_hook_active") is not True:
                return False
            os.unlink(self.asked(hook))
        except (OSError, ValueError):
            return False
        return bool(turn) and turn == hook.get("prompt_id")

    def begins_turn(self, hook):
        """Whether no hook of this session has named this turn before: a prompt may also come into one under way."""
        import binascii

        turn, name = hook.get("prompt_id"), hook.get("hook_event_name")
        if name not in ("UserPromptSubmit", "Stop") or not isinstance(turn, str):
            return False
        mark = binascii.crc32(hook["session_id"].encode("utf-8", "replace"))
        path = os.path.join(self.folder, "turn-%08x" % mark)
        try:
            with open(path, encoding="utf-8") as file:
                if file.read(400) == turn[:400]:
                    return False
        except (OSError, ValueError):
            pass
        try:
            self.write("turn-", path, turn[:400])
        except (OSError, ValueError):
            pass
        return True

    def note_words(self, key, wanted):
        """Remember whether the daemon keeps what is said in sessions with this key; until it says so, none is sent."""
        mark = self.words_mark(key)
        if wanted and not os.path.exists(mark):
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            os.close(os.open(mark, os.O_WRONLY | os.O_CREAT, 0o600))
        elif not wanted and os.path.exists(mark):
            os.unlink(mark)

    def wants_words(self, key):
        return os.path.exists(self.words_mark(key))

    def words_mark(self, key):
        import binascii

        return os.path.join(self.folder, "words-%08x" % binascii.crc32(key.encode("utf-8", "replace")))

    def woken(self, process):
        """The file that remembers with which note the companion wakes the session in a process."""
        import binascii

        mark = binascii.crc32(process.encode("utf-8", "replace"))
        return os.path.join(self.folder, "woken-%08x" % mark)

    def note_woken(self, process, note, text):
        """Remember it; of the text only a sum is kept."""
        self.write("woken-", self.woken(process), "%s %s" % (sum_of(text), note))

    def woken_by(self, hook, process):
        """The note with which this turn begins that the companion wrote, once; empty for none."""
        prompt = hook.get("prompt")
        if hook.get("hook_event_name") != "UserPromptSubmit" or not isinstance(prompt, str):
            return ""
        try:
            with open(self.woken(process), encoding="utf-8") as file:
                known, _, note = file.read(400).partition(" ")
            if known != sum_of(prompt):
                return ""
            os.unlink(self.woken(process))
        except (OSError, ValueError):
            return ""
        return note

    def write(self, kind, path, text):
        """Write one of the small files of a kind; of too many the first by name go."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        for name in sorted(name for name in os.listdir(self.folder) if name.startswith(kind))[:-MOST_ASKED]:
            self.drop(name)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)

    def dropped(self):
        """How many events were given up: too many waited, no one could read them, or the daemon refused them."""
        return self.size("dropped")


def sum_of(text):
    """By which a text is known again: its length and a sum over it, without the space around it."""
    import binascii

    raw = text.strip().encode("utf-8", "replace")
    return "%d-%08x" % (len(raw), binascii.crc32(raw))


def process_of(pid):
    """(host, identity) of the session's process; parts that can't be seen are empty."""
    host = socket.gethostname()
    boot, space, start = "", "", ""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
        space = str(os.stat("/proc/%d/ns/pid" % pid).st_ino)
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as file:
            start = file.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError, ValueError):
        pass
    return host, "%s/%s/%s/%d/%s" % (host, boot, space, pid, start) if pid > 0 else ""


def repository_of(folder):
    """(root, branch) of the git repository of a folder, by its files alone; empty for none."""
    place = folder
    while place and os.path.isabs(place):
        git = os.path.join(place, ".git")
        if os.path.exists(git):
            return place, branch_of(git, place)
        parent = os.path.dirname(place)
        if parent == place:
            break
        place = parent
    return "", ""


def branch_of(git, place):
    """The branch, or the beginning of the commit where none is checked out."""
    try:
        if os.path.isfile(git):  # a worktree or a submodule
            with open(git, encoding="utf-8", errors="replace") as file:
                git = os.path.join(place, file.read(4096).partition("gitdir:")[2].strip())
        with open(os.path.join(git, "HEAD"), encoding="utf-8", errors="replace") as file:
            head = file.read(4096).strip()
    except (OSError, ValueError):
        return ""
    ref = head.partition("ref: refs/heads/")[2]
    return (ref or head[:12])[:200]


def event_of(hook):
    """What is sent of a hook's input, or None where it says no session."""
    if not isinstance(hook, dict) or not isinstance(hook.get("session_id"), str):
        return None
    said = {}
    for name in SENT_FIELDS:
        if isinstance(hook.get(name), str):
            said[name] = hook[name][:4000]
    if hook.get("stop_hook_active") is True:
        said["stop_hook_active"] = True
    try:
        pid = int(os.environ.get("CLAUDE_PID", ""))
    except ValueError:
        pid = 0
    host, process = process_of(pid)
    root, branch = repository_of(said.get("cwd", ""))
    event = {
        "id": os.urandom(12).hex(),
        "sent_ms": int(time.time() * 1000),
        "hook": said,
        "process": process[:400],
        "host": host[:400],
        "root": root[:4000],
        "branch": branch,
    }
    attended = os.environ.get("CLAUDE_CODE_SESSION_ATTENDED")
    if attended in ("0", "1"):
        event["attended"] = attended == "1"
    return event


def read_hook(raw):
    """The hook's input: a client may leave control characters, and the bytes of a file's name, as they are.

    None for what is no JSON.
    """
    if len(raw) > LARGEST_INPUT:
        return None
    try:
        return json.loads(raw.decode("utf-8-sig", "surrogateescape"), strict=False)
    except (ValueError, RecursionError):
        return None


def body_of(event):
    """An event as it is sent and kept; in all its texts U+FFFD stands for what is no whole character."""
    text = json.dumps(event, ensure_ascii=False).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.encode("utf-8")


def cut(text):
    """A text that is not too long."""
    return text if len(text) <= LONGEST_ANSWER else text[: LONGEST_ANSWER - 1] + "\u2026"


class Run:
    """One run: what it found out so far, for the thread that ends it in time."""

    def __init__(self):
        self.done = _thread.allocate_lock()
        self.done.acquire()
        self.settled = _thread.allocate_lock()  # who has it decides what becomes of the event
        self.spool = None
        self.event = None

    def work(self):
        """Read, send, print; whatever goes wrong stays here."""
        try:
            self.report()
        except BaseException:  # noqa: BLE001 - a hook never fails and says nothing
            pass
        self.done.release()

    def report(self):
        from soul_address import address, settings  # in here, so that a copy without it fails in silence

        url, key = settings()
        if not key:
            return
        where = address(url)
        raw = sys.stdin.buffer.read(LARGEST_INPUT + 1)
        self.spool, hook = Spool(url), read_hook(raw)
        event = event_of(hook)
        if event is None:
            self.spool.count_dropped()
            return
        self.add_words(event, hook, key)
        self.event = event
        try:
            answer = self.send(where, key)
        except Unsent:
            self.keep()
            return
        if self.settled.acquire(False):
            self.show(answer)

    def add_words(self, event, hook, key):
        """Add what was answered to a note, which note began the turn, or the words that are kept of a session."""
        words, note = WORDS.get(hook.get("hook_event_name"), ""), self.spool.woken_by(hook, event["process"])
        begins = self.spool.begins_turn(hook)
        if self.spool.is_answer(hook) and isinstance(hook.get("last_assistant_message"), str):
            event["said"] = cut(hook["last_assistant_message"])
        elif note and begins:  # in a turn under way one could not tell whose answer its end is
            event["note"] = note
            self.spool.note_asked(hook, goes_on=False)
        elif isinstance(hook.get(words), str) and self.spool.wants_words(key):
            event["hook"][words] = cut(hook[words])

    def send(self, where, key):
        """Send what was kept, oldest first, then this event; gives the answer to it. Raises Unsent."""
        line = Line(where, key)
        for name in self.spool.names():
            try:
                kept = json.loads(self.spool.read(name).decode("utf-8"))
                kept["now_ms"] = max(int(time.time() * 1000), kept["sent_ms"] + 1)
            except (OSError, ValueError, KeyError, TypeError, RecursionError):
                self.spool.drop(name)  # another run has sent it, or a disk has torn it
                continue
            self.deliver(line, kept)
            self.spool.drop(name)
        status, answer = self.deliver(line, dict(self.event, now_ms=self.event["sent_ms"]))
        if status == 200:
            self.spool.note_words(key, answer.get("remember") is True)
        return answer

    def deliver(self, line, event):
        """The status and the answer to an event that the daemon took, or refused for good. Raises Unsent."""
        status, answer = line.send(body_of(event))
        if status in REFUSED:
            self.spool.count_dropped()
        elif status != 200:
            raise Unsent("status %d" % status)
        return status, answer

    def keep(self):
        """Keep the event for a later run, unless it is settled; False where its answer is just being printed."""
        if self.event is not None and not self.settled.acquire(False):
            return False
        if self.event is not None:
            self.spool.keep(body_of(self.event))
        return True

    def show(self, answer):
        """Print the text for the session, if there is one and this hook's output is read."""
        name, text = self.event["hook"].get("hook_event_name"), answer.get("context")
        note = answer.get("note")
        if name == "Stop":  # what people ask it; it goes on then, and its next end of a turn holds the answer
            text = note.get("text") if isinstance(note, dict) and not self.event["hook"].get("stop_hook_active") else ""
            if text:
                self.spool.note_asked(self.event["hook"], goes_on=True)
        if name in READS_THE_ANSWER and isinstance(text, str) and text:
            said = {"hookEventName": name, "additionalContext": text[:LONGEST_CONTEXT]}
            os.write(1, json.dumps({"hookSpecificOutput": said}).encode("ascii"))


def status():
    """What a person wants to know of the settings and the events that wait, as JSON."""
    from soul_address import address, settings

    url, key = settings()
    spool, fault = Spool(url), "" if key else "there is no key"
    try:
        address(url)
    except ValueError as error:
        fault = str(error)
    found = {"url": url, "key": bool(key), "fault": fault, "kept": len(spool.names()), "dropped": spool.dropped()}
    os.write(1, (json.dumps(found) + "\n").encode("ascii"))


def main():
    """Work in a second thread, since a name look-up can't be cut short, and end in time whatever that does."""
    run = Run()
    _thread.start_new_thread(run.work, ())
    if not run.done.acquire(True, max(0.01, STARTED + END_S - time.monotonic())):
        try:
            if not run.keep():
                run.done.acquire(True, PRINT_S)
        except BaseException:  # noqa: BLE001 - a full disk, for one
            pass


if __name__ == "__main__":
    try:
        if "--status" in sys.argv[1:]:
            status()
        else:
            main()
    finally:
        os._exit(0)
