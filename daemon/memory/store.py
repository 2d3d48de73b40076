"""memory.db opened for one daemon: the queues and the knowledge of each soul that it hosts."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from daemon.core.ports.services import Clock, Emit
from daemon.memory.consolidation.slots import night_stores
from daemon.memory.database import Database, open_database
from daemon.memory.expectations.settling import DuePredictions
from daemon.memory.knowledge.episodes import Episodes
from daemon.memory.knowledge.learning import Learning
from daemon.memory.knowledge.model_habits import ModelHabits
from daemon.memory.knowledge.soul_states import NewestQualia, ProcessMemories, SoulStates
from daemon.memory.knowledge.turns import Turns
from daemon.memory.knowledge.user_models import UserModels, Zones
from daemon.memory.mind.at_hand import Minds
from daemon.memory.people.known import KnownOfPerson
from daemon.memory.people.standing import Remembering
from daemon.memory.queues.alarms import Alarms
from daemon.memory.queues.approvals import Approvals
from daemon.memory.queues.awakenings import Awakenings
from daemon.memory.queues.commits import Commits
from daemon.memory.queues.conversations import Conversations
from daemon.memory.queues.ended_visits import EndedVisits
from daemon.memory.queues.inbox import MOST_WAITING, Inbox
from daemon.memory.queues.intentions import Intentions
from daemon.memory.queues.jobs import Jobs, UnreadWords
from daemon.memory.queues.outbox import Outbox
from daemon.memory.queues.own_reminders import OwnThings
from daemon.memory.queues.presence import Presence
from daemon.memory.queues.readings_to_tell import ReadingsToTell
from daemon.memory.queues.session_titles import SessionTitles
from daemon.memory.queues.source_events import SourceEvents
from daemon.memory.queues.ticks import Ticks
from daemon.memory.queues.tool_records import StoredTools
from daemon.memory.records import Worker
from daemon.memory.senses.pushed import PushedReadings
from daemon.memory.shared.messages import NoteStore
from daemon.memory.shared.pairings import PairingStore
from daemon.memory.shared.questions import QuestionStore
from daemon.memory.shared.sessions import SessionStore
from daemon.memory.shared.store import ContextStore
from daemon.memory.shared.thread_bindings import ThreadBindings
from daemon.memory.spending.reservations import Reservations
from daemon.memory.stream.reading import Stream


class Store:
    """The stores of one soul in memory.db. All souls of a daemon share `inbox` and `presence`."""

    def __init__(self, database: Database, clock: Clock, worker: Worker, inbox: Inbox, presence: Presence) -> None:
        self.database = database
        self.inbox = inbox
        self.conversations = Conversations(database, clock, worker)
        self.commits = Commits(database, clock, worker)
        self.outbox = Outbox(database, clock, worker)
        self.titles = SessionTitles(database, clock, worker)
        self.turns = Turns(database, clock)
        self.jobs = Jobs(database, clock, worker)
        self.presence = presence
        self.user_models = UserModels(database, clock, worker)
        self.learning = Learning(database, clock, worker)
        self.soul_states = SoulStates(database, clock, worker)
        self.qualia = NewestQualia(database)
        self.process_memories = ProcessMemories(database, clock, worker)
        self.episodes = Episodes(database, clock, worker)
        self.ended_visits = EndedVisits(database, clock, worker)
        self.unread_words = UnreadWords(database, clock, worker)
        self.intentions = Intentions(database, clock, worker)
        self.approvals = Approvals(database, clock, worker)
        self.tools = StoredTools(database, clock, worker)
        self.model_habits = ModelHabits(database)
        self.zones = Zones(database, clock, worker)
        self.known = KnownOfPerson(database, clock, worker)
        self.standing = Remembering(database, clock, worker)
        self.own_things = OwnThings(database, clock, worker)
        self.readings = ReadingsToTell(database, clock, worker)
        self.contexts = ContextStore(database, clock, worker.workspace)
        self.sessions = SessionStore(database, worker.workspace)
        self.pairings = PairingStore(database, clock, worker.workspace)
        self.events = SourceEvents(database, clock)
        self.notes = NoteStore(database, clock, worker.workspace)
        self.questions = QuestionStore(database, clock, worker.workspace)
        self.bindings = ThreadBindings(database, clock, worker.workspace)
        self.night = night_stores(database, clock, worker)
        self.reservations = Reservations(database, clock, worker)
        self.alarms = Alarms(database, clock, worker)
        self.stream = Stream(database, clock)
        self.minds = Minds(database, clock)
        self.due_predictions = DuePredictions(database, clock, worker)
        self.ticks = Ticks(database, clock, worker, self.conversations)
        self.senses = PushedReadings(database, clock)
        self.awakenings = Awakenings(database, clock, worker)


@asynccontextmanager
async def open_store(
    path: Path,
    clock: Clock,
    emit: Emit,
    *,
    soul: str,
    workspace: str,
    kind: str,
    version: str,
    lease: float,
    on_accepted: Callable[[str], None],
    most_waiting: int = MOST_WAITING,
) -> AsyncIterator[Store]:
    """Open memory.db for one daemon, after creating or migrating it, and close it at exit.

    Raises StoreError. `lease` is in seconds. `on_accepted` gets a conversation's id after each new message there, and
    '' after any other change to the inbox. At most `most_waiting` conversations of one user may wait at once.
    """
    async with open_database(path, clock) as database:
        presence = Presence(database, clock, soul=soul, workspace=workspace, kind=kind, version=version, lease=lease)
        worker = Worker(database.processes.own, soul, workspace, int(lease * 1000))
        inbox = Inbox(database, clock, emit, on_accepted, most_waiting=most_waiting)
        yield Store(database, clock, worker, inbox, presence)


def store_for_soul(store: Store, clock: Clock, *, soul: str, workspace: str, lease: float) -> Store:
    """Return the stores of another soul of the daemon in the same open file."""
    worker = Worker(store.database.processes.own, soul, workspace, int(lease * 1000))
    return Store(store.database, clock, worker, store.inbox, store.presence)
