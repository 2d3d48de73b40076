"""memory.db opened for one daemon: the queues and the knowledge of each soul that it hosts."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from daemon.core.ports.services import Clock, Emit
from daemon.memory.consolidation.slots import NightStores, night_stores
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


@dataclass(frozen=True, slots=True)
class Store:
    """The stores of one soul in memory.db. All souls of a daemon share `inbox` and `presence`."""

    database: Database
    inbox: Inbox
    conversations: Conversations
    commits: Commits
    outbox: Outbox
    titles: SessionTitles
    turns: Turns
    jobs: Jobs
    presence: Presence
    user_models: UserModels
    learning: Learning
    soul_states: SoulStates
    qualia: NewestQualia
    process_memories: ProcessMemories
    episodes: Episodes
    ended_visits: EndedVisits
    unread_words: UnreadWords
    intentions: Intentions
    approvals: Approvals
    tools: StoredTools
    model_habits: ModelHabits
    zones: Zones
    known: KnownOfPerson
    standing: Remembering
    own_things: OwnThings
    readings: ReadingsToTell
    contexts: ContextStore
    sessions: SessionStore
    notes: NoteStore
    questions: QuestionStore
    bindings: ThreadBindings
    pairings: PairingStore
    events: SourceEvents
    night: NightStores
    reservations: Reservations
    alarms: Alarms
    stream: Stream
    minds: Minds
    due_predictions: DuePredictions
    ticks: Ticks
    senses: PushedReadings
    awakenings: Awakenings


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
        yield _store(database, clock, worker, inbox, presence)


def store_for_soul(store: Store, clock: Clock, *, soul: str, workspace: str, lease: float) -> Store:
    """Return the stores of another soul of the daemon in the same open file."""
    worker = Worker(store.database.processes.own, soul, workspace, int(lease * 1000))
    return _store(store.database, clock, worker, store.inbox, store.presence)


def _store(database: Database, clock: Clock, worker: Worker, inbox: Inbox, presence: Presence) -> Store:
    conversations = Conversations(database, clock, worker)
    return Store(
        database=database,
        inbox=inbox,
        conversations=conversations,
        commits=Commits(database, clock, worker),
        outbox=Outbox(database, clock, worker),
        titles=SessionTitles(database, clock, worker),
        turns=Turns(database, clock),
        jobs=Jobs(database, clock, worker),
        presence=presence,
        user_models=UserModels(database, clock, worker),
        learning=Learning(database, clock, worker),
        soul_states=SoulStates(database, clock, worker),
        qualia=NewestQualia(database),
        process_memories=ProcessMemories(database, clock, worker),
        episodes=Episodes(database, clock, worker),
        ended_visits=EndedVisits(database, clock, worker),
        unread_words=UnreadWords(database, clock, worker),
        intentions=Intentions(database, clock, worker),
        approvals=Approvals(database, clock, worker),
        tools=StoredTools(database, clock, worker),
        model_habits=ModelHabits(database),
        zones=Zones(database, clock, worker),
        known=KnownOfPerson(database, clock, worker),
        standing=Remembering(database, clock, worker),
        own_things=OwnThings(database, clock, worker),
        readings=ReadingsToTell(database, clock, worker),
        contexts=ContextStore(database, clock, worker.workspace),
        sessions=SessionStore(database, worker.workspace),
        pairings=PairingStore(database, clock, worker.workspace),
        events=SourceEvents(database, clock),
        notes=NoteStore(database, clock, worker.workspace),
        questions=QuestionStore(database, clock, worker.workspace),
        bindings=ThreadBindings(database, clock, worker.workspace),
        night=night_stores(database, clock, worker),
        reservations=Reservations(database, clock, worker),
        alarms=Alarms(database, clock, worker),
        stream=Stream(database, clock),
        minds=Minds(database, clock),
        due_predictions=DuePredictions(database, clock, worker),
        ticks=Ticks(database, clock, worker, conversations),
        senses=PushedReadings(database, clock),
        awakenings=Awakenings(database, clock, worker),
    )
