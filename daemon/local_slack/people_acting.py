"""The actions of users, checked as in Slack's client: post, edit, delete, react, click, type a command …"""

import secrets
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace

from daemon.local_slack.interactions import (
    Press,
    block_actions,
    choice,
    find_element,
    home_actions,
    message_action,
    slash_command,
)
from daemon.local_slack.modals import Filled, Modal, NotFilledIn
from daemon.local_slack.model import (
    ChannelKind,
    File,
    Json,
    Standing,
    WorkspaceChannel,
    WorkspaceMessage,
    WorkspaceUser,
    rich_text,
    typed,
)
from daemon.local_slack.sending_dialogs import end_dialogs, send_dialog
from daemon.local_slack.slack_json import file_json
from daemon.local_slack.workspace import Workspace

_ORIGIN = {ChannelKind.DM: "Direct Message", ChannelKind.GROUP_DM: "Group Message"}


def address_of(workspace: Workspace, message: WorkspaceMessage) -> str:
    """Return the address of a message (Slack: chat.getPermalink)."""
    thread = f"?thread_ts={message.thread_ts}&cid={message.channel}" if message.is_reply else ""
    return f"{workspace.url}/archives/{message.channel}/p{message.ts.replace('.', '')}{thread}"


def forwarded(workspace: Workspace, message: WorkspaceMessage) -> Json:
    """Return a message as an attachment of the one that forwards it, with its own files and attachments."""
    state = workspace.state
    author, room = state.people[message.author], state.channels[message.channel]
    name = author.display_name or author.real_name
    attachment: Json = {
        "id": 1,
        "ts": message.ts,
        "author_id": author.id,
        "author_name": name,
        "author_subname": author.real_name,
        "channel_id": room.id,
        "channel_team": author.team,
        "channel_name": _ORIGIN.get(room.kind, room.name),
        "is_msg_unfurl": True,
        "is_share": True,
        "text": message.text,
        "fallback": f"[{message.ts}] {name}: {message.text}",
        "from_url": address_of(workspace, message),
        "footer": f"Posted in #{room.name}" if room.name else _ORIGIN.get(room.kind, ""),
        "mrkdwn_in": ["text"],
        "message_blocks": [
            {"team": author.team, "channel": room.id, "ts": message.ts, "message": {"blocks": list(message.blocks)}}
        ],
    }
    files = [file_json(state, state.files[file], workspace.url) for file in message.files if file in state.files]
    carried = {"files": files, "attachments": list(message.attachments)}
    return attachment | {name: value for name, value in carried.items() if value}


_ACTS = "/me "


class NotPossible(Exception):
    """An error: Slack would not let this user do it, or the fields are wrong. `hint` says what would work."""

    def __init__(self, error: str, hint: str = "") -> None:
        super().__init__(error)
        self.error = error
        self.hint = hint


class PeopleActing:
    """The actions of users. All methods raise NotPossible with an error name like Slack's."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def person(self, name: str) -> WorkspaceUser:
        """Return a user by id or name."""
        person = self._workspace.state.person_named(name) if name else None
        if person is None:
            raise NotPossible("user_not_found", f"no user is called {name!r}; add one with /_control/person")
        return person

    def channel(self, name: str) -> WorkspaceChannel:
        """Return a channel by id or name."""
        room = self._workspace.state.channel_named(name)
        if room is None:
            raise NotPossible("channel_not_found", f"no channel is called {name!r}")
        return room

    def readable(self, person: WorkspaceUser, name: str) -> WorkspaceChannel:
        """Return a channel that the user may read: an id, a name, or `dm` for their DM with the app."""
        state = self._workspace.state
        room = self._workspace.open_dm(person.id) if name == "dm" else state.channel_named(name)
        if room is None or not state.sees(person.id, room):
            raise NotPossible("channel_not_found", f"{person.display_name} sees no channel {name!r}")
        return room

    def joined(self, person: WorkspaceUser, name: str) -> WorkspaceChannel:
        """Return a channel that the user is a member of."""
        room = self.readable(person, name)
        if person.id not in room.members:
            raise NotPossible("not_in_channel", f"let {person.display_name} join first, with /_control/join")
        if room.archived or person.standing is Standing.DEACTIVATED:
            raise NotPossible("is_archived" if room.archived else "account_inactive")
        return room

    def message(self, room: WorkspaceChannel, ts: str) -> WorkspaceMessage:
        """Return a message of a channel, by its ts."""
        message = self._workspace.state.message(room.id, ts)
        if message is None or message.subtype == "tombstone":
            raise NotPossible("message_not_found", f"no message {ts!r} in {room.id}")
        return message

    def _shown_alone(self, person: WorkspaceUser, room: WorkspaceChannel, ts: str) -> WorkspaceMessage | None:
        shown = self._workspace.state.ephemerals.get(person.id, ())
        return next((one for one in shown if (one.channel, one.ts) == (room.id, ts)), None)

    def say(
        self,
        person: WorkspaceUser,
        room: WorkspaceChannel,
        text: str,
        *,
        thread: str = "",
        broadcast: bool = False,
        files: Sequence[File] = (),
        attachments: Sequence[Json] = (),
        blocks: Sequence[Json] = (),
    ) -> WorkspaceMessage:
        """Post typed text, files, attachments and blocks.

        `@Name` becomes a mention, & < > are escaped. Text that begins with `/me` becomes a message about the user. Only
        bots bring blocks, because Slack makes those of users.
        """
        if not text.strip() and not files and not attachments and not blocks:
            raise NotPossible("no_text", "give a text or attach a file")
        root = self.message(room, thread) if thread else None
        self._workspace.state.files.update((file.id, file) for file in files)
        acts = text.startswith(_ACTS)
        stored = self._typed(text.removeprefix(_ACTS))
        draft = WorkspaceMessage(
            room.id,
            person.id,
            stored,
            thread_ts=(root.thread_ts or root.ts) if root else "",
            broadcast=broadcast and root is not None,
            subtype="thread_broadcast" if broadcast and root else "file_share" if files else "me_message" * acts,
            client_msg_id="" if person.is_bot else str(uuid.uuid4()),
            blocks=tuple(blocks) if person.is_bot or not stored else (rich_text(stored),),
            files=tuple(file.id for file in files),
            attachments=tuple(attachments),
        )
        message = self._workspace.post(draft)
        self._workspace.state.read_up_to[person.id, room.id] = message.ts
        return message

    def forward(
        self, person: WorkspaceUser, source: WorkspaceMessage, room: WorkspaceChannel, text: str, *, thread: str = ""
    ) -> WorkspaceMessage:
        """Forward a readable message to one of the user's channels, with or without a text."""
        return self.say(person, room, text, thread=thread, attachments=[forwarded(self._workspace, source)])

    def edit(self, person: WorkspaceUser, room: WorkspaceChannel, ts: str, text: str) -> WorkspaceMessage:
        """Edit the user's own message."""
        message = self.message(room, ts)
        if message.author != person.id:
            raise NotPossible("cant_update_message", "users edit only their own messages")
        stored = self._typed(text)
        stamp = self._workspace.new_ts(room.id)
        edited = replace(message, text=stored, blocks=(rich_text(stored),), edited_by=person.id, edited_ts=stamp)
        return self._workspace.revise(edited)

    def delete(self, person: WorkspaceUser, room: WorkspaceChannel, ts: str) -> None:
        """Delete the user's own message."""
        message = self.message(room, ts)
        if message.author != person.id:
            raise NotPossible("cant_delete_message", "users delete only their own messages")
        self._workspace.withdraw(message)

    def react(self, person: WorkspaceUser, room: WorkspaceChannel, ts: str, name: str, *, add: bool) -> bool:
        """Add or remove an emoji. Return False if nothing changes."""
        return self._workspace.react(self.message(room, ts), name.strip(":"), person.id, add=add)

    def click(self, person: WorkspaceUser, room: WorkspaceChannel, ts: str, action_id: str, value: str) -> bool:
        """Click a button. Return False if no socket is open."""
        workspace = self._workspace
        message = self._shown_alone(person, room, ts) or self.message(room, ts)
        found = find_element(message.blocks, action_id)
        if found is None:
            raise NotPossible("action_not_found", f"the message has no element with the action_id {action_id!r}")
        block, element = found
        chosen = choice(element, value)
        if chosen is None:
            raise NotPossible("value_not_found", f"the element does not offer the value {value!r}")
        action = {
            "type": element["type"],
            "action_id": action_id,
            "block_id": block.get("block_id") or secrets.token_urlsafe(3),
            "action_ts": workspace.new_ts(room.id),
        } | {name: part for name, part in chosen.items() if part is not None}
        response_url = workspace.interactions.new_response_url(workspace.url, person.id, room.id, ts)
        press = Press(person, room, message, action, workspace.interactions.new_trigger(person.id), response_url)
        payload = block_actions(workspace.state, press, workspace.url)
        return workspace.deliveries.once("interactive", payload)

    def press_home(self, person: WorkspaceUser, action_id: str) -> bool:
        """Press a button on the user's home tab. Return False if no socket is open."""
        workspace = self._workspace
        view = workspace.state.homes.get(person.id)
        found = find_element(view["blocks"], action_id) if view else None
        if view is None or found is None:
            raise NotPossible("action_not_found", f"the home has no element with the action_id {action_id!r}")
        block, element = found
        action = {
            "type": element["type"],
            "action_id": action_id,
            "block_id": block.get("block_id") or secrets.token_urlsafe(3),
            "action_ts": f"{workspace.clock.now():.6f}",
            **(choice(element, "") or {}),
        }
        trigger = workspace.interactions.new_trigger(person.id)
        return workspace.deliveries.once("interactive", home_actions(workspace.state, person, view, action, trigger))

    def shortcut(self, person: WorkspaceUser, room: WorkspaceChannel, ts: str, callback_id: str) -> bool:
        """Use a message shortcut of the app. Return False if no socket is open."""
        workspace = self._workspace
        message = self.message(room, ts)
        if workspace.state.shortcut(callback_id) is None:
            raise NotPossible("shortcut_not_found", f"the app has no message shortcut {callback_id!r}")
        if "commands" not in workspace.scopes:
            raise NotPossible("missing_scope", "the app lacks the scope `commands`")
        response_url = workspace.interactions.new_response_url(workspace.url, person.id, room.id)
        action = {"action_ts": workspace.new_ts(room.id)}
        press = Press(person, room, message, action, workspace.interactions.new_trigger(person.id), response_url)
        payload = message_action(workspace.state, press, callback_id, workspace.url)
        return workspace.deliveries.once("interactive", payload)

    def stop(self, person: WorkspaceUser, room: WorkspaceChannel, thread: str) -> str:
        """Press the stop button of a thread in which the app's session works. Return the event id."""
        root = self.message(room, thread)
        session = self._workspace.state.sessions.get((room.id, root.thread_ts or root.ts))
        if session is None or session.status != "processing":
            raise NotPossible("session_not_found", "no session is at work in this thread")
        return self._workspace.stop_session(root, person.id)

    def command(self, person: WorkspaceUser, room: WorkspaceChannel, command: str, text: str) -> bool:
        """Type a slash command. The app's acknowledgement may carry a reply. Return False if no socket is open."""
        workspace = self._workspace
        if "commands" not in workspace.scopes:
            raise NotPossible("missing_scope", "the app lacks the scope `commands`")
        if command not in {one.command for one in workspace.state.app.commands}:
            raise NotPossible("unknown_command", f"{command} is not a valid command")
        payload = slash_command(workspace.state, person, room, command, text)
        payload["trigger_id"] = workspace.interactions.new_trigger(person.id)
        payload["response_url"] = workspace.interactions.new_response_url(workspace.url, person.id, room.id)

        def answered(answer: Json | None) -> None:
            words = str((answer or {}).get("text", ""))
            blocks = tuple((answer or {}).get("blocks") or ())
            if not words and not blocks:
                return
            draft = WorkspaceMessage(room.id, workspace.state.app.user, words, blocks=blocks)
            if (answer or {}).get("response_type") == "in_channel":
                workspace.post(draft)
            else:
                workspace.show_to_one(person.id, draft)

        return workspace.deliveries.once("slash_commands", payload, answered)

    def submit(self, person: WorkspaceUser, view_id: str, values: Mapping[str, Filled]) -> bool:
        """Submit an open modal of the user. The app's acknowledgement ends it. Return False if no socket is open."""
        modal = self._open(person, view_id)
        if modal is None:
            raise NotPossible("view_not_found", f"{person.display_name} has no dialog {view_id!r} open")
        try:
            return send_dialog(self._workspace, person, modal, values)
        except NotFilledIn as missing:
            raise NotPossible("invalid_arguments", str(missing)) from missing

    def close(self, person: WorkspaceUser, view_id: str) -> None:
        """Close a modal without submitting it."""
        if self._open(person, view_id) is not None:
            end_dialogs(self._workspace, person.id, view_id)

    def _open(self, person: WorkspaceUser, view_id: str) -> Modal | None:
        modal = self._workspace.modals.get(view_id)
        return modal if modal is not None and modal.person == person.id else None

    def _typed(self, text: str) -> str:
        state = self._workspace.state
        aliases = {"soul": state.app.user}
        return typed(text, state.people.values(), state.channels.values(), aliases, state.groups.values())
