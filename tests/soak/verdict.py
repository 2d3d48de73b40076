"""What was promised to people, counted: messages lost or answered twice, rows that ended unseen, daemons that died."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

from daemon.core.value import Value
from daemon.local_slack.model import WorkspaceMessage
from tests.kill.verdict import Figure, key_of
from tests.soak.workplace import Workplace

Row: TypeAlias = Mapping[str, Any]
_NAMED: Final = 10  # of each fault
_AWAY: Final = "I was away until"
_ENDED: Final = ("answered", "ignored", "stale", "dead")


class Asked(Value):
    """A message to the soul: `thread` is the ts under which its reply belongs, `mark` a word that the reply repeats."""

    channel: str
    thread: str
    ts: str
    mark: str
    author: str


@dataclass
class SoakVerdict(Figure):
    """The counts; `answered` by a reply, `covered` by an apology or the line about having been away.

    `faults` says of the first of each kind what was seen.
    """

    FAULTS: ClassVar = ("lost", "doubled", "silent_ends", "dead_daemons", "answered_bots")
    answered: int = 0
    covered: int = 0
    lost: int = 0
    doubled: int = 0
    silent_ends: int = 0
    dead_daemons: int = 0
    answered_bots: int = 0
    faults: tuple[str, ...] = ()


class Judge:
    """Keeps what was asked, and compares it with what stands in the workspace and in memory.db."""

    def __init__(self, place: Workplace) -> None:
        self.verdict = SoakVerdict()
        self._place = place
        self._asked: dict[str, Asked] = {}
        self._noise: list[Asked] = []
        self._ended_before = 0

    def asked(self, one: Asked) -> None:
        """A message that has to be answered."""
        self._asked[one.ts] = one

    def withdrawn(self, one: Asked) -> None:
        """Its author deleted it."""
        self._asked.pop(one.ts, None)

    def noise(self, one: Asked) -> None:
        """A message that has to be passed over."""
        self._noise.append(one)

    def answered_in_rooms(self, among: Sequence[str]) -> list[Asked]:
        """Those of these messages that were answered in a channel's thread."""
        with self._place.store() as connection:
            states = dict(
                connection.execute(
                    f"SELECT ts, state FROM inbox WHERE ts IN ({', '.join('?' * len(among))})", among
                ).fetchall()
            )
        mine = (self._asked[ts] for ts in among if ts in self._asked and states.get(ts) == "answered")
        return [one for one in mine if one.channel.startswith("C")]

    def judge(self) -> None:
        """Judge everything that was asked since the last time; all of it had time enough to end."""
        seen = _Seen(self._posts())
        rows, ended = self._rows()
        for one in self._asked.values():
            self._judge_one(one, rows.get(one.ts), seen)
        for one in self._noise:
            if seen.marks[one.mark]:
                self._count("answered_bots", f"{one} was answered")
        for row in ended:
            if not seen.after(row["created_ms"] / 1000 - 1, row["channel"], row["reply_to"]):
                self._count("silent_ends", f"post {row['id']} ended {row['state']}: {row['reason']}")
        for error in self._place.dead_daemons:
            self._count("dead_daemons", error)
        self._place.dead_daemons.clear()
        self._asked.clear()
        self._noise.clear()

    def _judge_one(self, one: Asked, row: Row | None, seen: "_Seen") -> None:
        if times := seen.marks[one.mark]:
            self.verdict.answered += 1
            if times > 1:
                self._count("doubled", f"{one} was answered {times} times")
            return
        state = "never stored" if row is None else row["state"]
        if row is not None and seen.covers(one, row):
            self.verdict.covered += 1
        else:
            kind = "silent_ends" if state in _ENDED else "lost"
            self._count(kind, f"{one}: {dict(row) if row else state}")

    def _count(self, kind: str, what: str) -> None:
        before = getattr(self.verdict, kind)
        setattr(self.verdict, kind, before + 1)
        if before < _NAMED:
            self.verdict.faults += (f"{kind}: {what}",)

    def _posts(self) -> list[WorkspaceMessage]:
        state = self._place.workspace.state
        everything = (message for channel in state.channels for message in state.timeline(channel).everything())
        return [one for one in everything if one.author == state.app.user and one.subtype != "tombstone"]

    def _rows(self) -> tuple[dict[str, Row], list[Row]]:
        """The rows of messages by their ts, and the posts that ended without being sent since the last time."""
        with self._place.store() as connection:
            connection.row_factory = _as_mapping
            rows = connection.execute("SELECT ts, state, reason, answered_by, attempts FROM inbox").fetchall()
            ended = connection.execute(
                """
                SELECT o.seq, o.id, o.state, o.reason, o.reply_to, o.created_ms, c.channel
                FROM outbox o JOIN conversations c ON c.id = o.conversation
                WHERE o.state IN ('dead', 'unknown', 'expired') AND o.seq > ? ORDER BY o.seq
                """,
                (self._ended_before,),
            ).fetchall()
        self._ended_before = max((row["seq"] for row in ended), default=self._ended_before)
        return {row["ts"]: row for row in rows}, ended


class _Seen:
    """What stands in the workspace: how many posts show a mark, and what was posted where."""

    def __init__(self, posts: Sequence[WorkspaceMessage]) -> None:
        self.marks = Counter[str]()
        self._keys = {key_of(post) for post in posts}
        self._places = defaultdict[tuple[str, str], list[tuple[float, str]]](list)
        for post in posts:
            words = _words(post)
            self.marks.update({word for word in words if word.startswith("mark")})
            for thread in ("", post.thread_ts or post.ts):
                self._places[post.channel, thread].append((float(post.ts), " ".join(words)))

    def covers(self, one: Asked, row: Row) -> bool:
        """Whether an apology, a courteous line or the line about an absence stands for a message without a reply."""
        match row["state"]:
            case "answered":
                return row["answered_by"] in self._keys
            case "stale":
                thread = one.thread if one.channel.startswith("C") else ""
                return self.after(float(one.ts), one.channel, thread, _AWAY)
            case "ignored" | "dead":
                return self.after(float(one.ts), one.channel, one.thread)
        return False

    def after(self, ts: float, channel: str, thread: str, words: str = "") -> bool:
        """Whether a post with these words stands in a thread, or anywhere in the channel, since a time."""
        return any(at >= ts and words in text for at, text in self._places[channel, thread])


def _as_mapping(cursor: Any, values: tuple[Any, ...]) -> Row:  # noqa: ANN401  # the driver's own
    return {column[0]: value for column, value in zip(cursor.description, values, strict=True)}


def _words(post: WorkspaceMessage) -> list[str]:
    blocks = [str(block["text"]) for block in post.blocks if block["type"] == "markdown"]
    return f"{' '.join(blocks)} {post.text}".replace("\n", " ").split()
