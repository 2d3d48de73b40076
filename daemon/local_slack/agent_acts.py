"""What people do in the app's agent view: they rename a session (Slack: agent sessions)."""

from dataclasses import replace
from typing import Final

from daemon.local_slack import events
from daemon.local_slack.model import WorkspaceChannel, WorkspaceUser
from daemon.local_slack.people_acting import NotPossible
from daemon.local_slack.slack_json import session_json
from daemon.local_slack.workspace import Workspace

_TITLE: Final = 200


def rename_session(workspace: Workspace, person: WorkspaceUser, room: WorkspaceChannel, thread: str, title: str) -> str:
    """Call a session something else; gives the id of `agent_session_title_changed`."""
    session = workspace.state.sessions.get((room.id, thread))
    if session is None:
        raise NotPossible("session_not_found", "there is no session in this thread")
    if not 0 < len(title) <= _TITLE:
        raise NotPossible("invalid_title", f"a title has at most {_TITLE} characters")
    renamed = workspace.state.sessions[room.id, thread] = replace(session, title=title)
    workspace.feed.publish("session", session_json(renamed), channel=room.id)
    stamp = workspace.new_ts(room.id)
    return workspace.raise_event(events.title_event(renamed, session.title, person.id, stamp), room.id)
