"""The forms of a passport's files other than memories: plans, models of users and the soul's own state."""

import hashlib
import json
from collections.abc import Mapping
from typing import Final, Literal

from daemon.memory.passport.form_fields import Count, Form, Moment, OurOrigin, Words
from daemon.memory.passport.names import PassportKind


class OurIntention(OurOrigin):
    """A reminder or a scheduled event: its person, words, time and outcome."""

    slot: str
    due_ms: Moment
    every: str
    process: str
    params: Mapping[str, object]
    content: str
    behalf: str
    state: Literal["waiting", "due", "cancelled", "dead"]
    reason: str
    fired: Count
    settled_ms: Moment | None
    faults: Count
    number: Count = 0
    zone: str = ""
    fired_day: str = ""
    errand: Literal["", "digest"] = ""
    covers_to: str = ""
    asked_where: str = ""
    paused: Literal["", "not_in_channel", "archived", "owner_left"] = ""
    unless_answered: bool = False
    cue: Mapping[str, object] | None = None  # of an older file: the topic, person or silence that it waited for


class OurUserModel(OurOrigin):
    """The model of a user for an audience. `whispers` are the soul's private words."""

    version: Count
    whispers: str
    visits: Count
    interactions: Count
    seen_ms: Moment
    modelled_to: Count


class OurModelVersion(OurOrigin):
    """A version of a user's model. `notes` are the ids of the facts valid then, `change` holds the news."""

    version: Count
    notes: Words
    whispers: str
    change: Mapping[str, object]
    trace_id: str


class OurMood(OurOrigin):
    """The soul's mood before one audience, and its beginning."""

    version: Count
    emotional_state: str
    felt_ms: Moment


class OurTopic(OurOrigin):
    """The topic and task of one conversation."""

    version: Count
    topic: str
    task: str


class OurQuestion(OurOrigin):
    """The soul's question in one room."""

    question: str


class IntentionForm(Form):
    """A plan of the soul, or of a user."""

    type: Literal[PassportKind.INTENTION]
    intention_id: str
    created_at: str
    soul_daemon: OurIntention


class UserModelForm(Form):
    """The model of a user for one audience. The facts have files of their own."""

    type: Literal[PassportKind.USER_MODEL]
    user_model_id: str
    user_id: str
    username: str
    created_at: str
    soul_daemon: OurUserModel


class ModelVersionForm(Form):
    """A version of a user's model."""

    type: Literal[PassportKind.MODEL_VERSION]
    user_model_version_id: str
    user_id: str
    created_at: str
    soul_daemon: OurModelVersion


class MoodForm(Form):
    """The soul's mood."""

    type: Literal[PassportKind.MOOD]
    soul_state_id: str
    created_at: str
    soul_daemon: OurMood


class TopicForm(Form):
    """The topic of a conversation."""

    type: Literal[PassportKind.TOPIC]
    conversation_topic_id: str
    created_at: str
    soul_daemon: OurTopic


class QuestionForm(Form):
    """A question that the soul carries."""

    type: Literal[PassportKind.QUESTION]
    standing_question_id: str
    created_at: str
    soul_daemon: OurQuestion


BesideForm = IntentionForm | UserModelForm | ModelVersionForm | MoodForm | TopicForm | QuestionForm

BESIDE_FORMS: Final[Mapping[PassportKind, type[BesideForm]]] = {
    PassportKind.INTENTION: IntentionForm,
    PassportKind.USER_MODEL: UserModelForm,
    PassportKind.MODEL_VERSION: ModelVersionForm,
    PassportKind.MOOD: MoodForm,
    PassportKind.TOPIC: TopicForm,
    PassportKind.QUESTION: QuestionForm,
}


def named_id(form: BesideForm) -> str:
    name: str = getattr(form, f"{form.type}_id")
    return name


def id_made_of(prefix: str, *parts: object) -> str:
    """Return an id made of the parts, for a row that has none."""
    digest = hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode()).hexdigest()[:16]
    return f"{prefix}_{digest}"


def own_id(form: BesideForm) -> str:
    """Return the id that a form's file must have. An intention may have any id."""
    ours = form.soul_daemon
    scope = (ours.soul, ours.workspace)
    match form:
        case IntentionForm():
            return form.intention_id
        case UserModelForm():
            return id_made_of("UM", *scope, form.user_id, ours.audience)
        case ModelVersionForm():
            return f"{id_made_of('UV', *scope, form.user_id, ours.audience)}_{form.soul_daemon.version}"
        case MoodForm():
            return id_made_of("MOOD", *scope, ours.audience)
        case TopicForm():
            return id_made_of("TOPIC", ours.conversation)
        case QuestionForm():
            return id_made_of("ASK", *scope, ours.channel)
