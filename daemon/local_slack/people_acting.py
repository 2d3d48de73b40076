"""The actions of users, checked as in Slack's client: post, edit, delete, react, click, type a command …"""

import base64
import binascii
import mimetypes
import secrets
import uuid
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from daemon.local_slack.interactions import choice, find_element, interaction
from daemon.local_slack.model import (
    ChannelKind,
    File,
    Json,
    Modal,
    WorkspaceChannel,
    WorkspaceMessage,
    WorkspaceUser,
    rich_text,
)
from daemon.local_slack.orders import NotPossible, Orders
from daemon.local_slack.slack_json import forwarded, message_json
from daemon.local_slack.web_api.views import NotFilledIn, end_dialogs, send_dialog

_ACTS: Final = "/me "
_TITLE: Final = 200


class PeopleActing(Orders):
    """The actions of users. `channel` is an id, a name, or `dm` for the user's DM with the app.

    An action that returns False met no open socket of the app.
    """

    def say(
        self,
        person: WorkspaceUser,
        channel: str,
        text: str,
        *,
        thread: str = "",
        broadcast: bool = False,
        files: Sequence[Json] = (),
        attachments: Sequence[Json] = (),
        blocks: Sequence[Json] = (),
    ) -> WorkspaceMessage:
        """Post typed text, files (`{name, text | base64, mimetype?}`), attachments and blocks.

        `@Name` becomes a mention, & < > are escaped. Text that begins with `/me` becomes a message about the user. Only
        bots bring blocks, because Slack makes those of users.
        """
        room = self._joined(person, channel)
        added = [self._file(item, person.id) for item in files]
        if not text.strip() and not added and not attachments and not blocks:
            raise NotPossible("no_text", "give a text or attach a file")
        root = self._message(room, thread) if thread else None
        self._workspace.state.files.update((file.id, file) for file in added)
        acts = text.startswith(_ACTS)
        stored = self._workspace.state.typed(text.removeprefix(_ACTS))
        draft = WorkspaceMessage(
            room.id,
            person.id,
            stored,
            thread_ts=(root.thread_ts or root.ts) if root else "",
            broadcast=broadcast and root is not None,
            subtype="thread_broadcast" if broadcast and root else "file_share" if added else "me_message" * acts,
            client_msg_id="" if person.is_bot else str(uuid.uuid4()),
            blocks=tuple(blocks) if person.is_bot or not stored else (rich_text(stored),),
            files=tuple(file.id for file in added),
            attachments=tuple(attachments),
        )
        message = self._workspace.post(draft)
        self._workspace.state.read_up_to[person.id, room.id] = message.ts
        return message

    def forward(
        self, person: WorkspaceUser, source: str, ts: str, channel: str, *, text: str = "", thread: str = ""
    ) -> WorkspaceMessage:
        """Forward a message of the channel `source`, with or without a text."""
        message = self._message(self._readable(person, source), ts)
        attachment = forwarded(self._workspace.state, message)
        return self.say(person, channel, text, thread=thread, attachments=[attachment])

    def edit(self, person: WorkspaceUser, channel: str, ts: str, text: str) -> WorkspaceMessage:
        room = self._joined(person, channel)
        message = self._message(room, ts)
        if message.author != person.id:
            raise NotPossible("cant_update_message", "users edit only their own messages")
        stored = self._workspace.state.typed(text)
        stamp = self._workspace.new_ts(room.id)
        edited = replace(message, text=stored, blocks=(rich_text(stored),), edited_by=person.id, edited_ts=stamp)
        return self._workspace.revise(edited)

    def delete(self, person: WorkspaceUser, channel: str, ts: str) -> None:
        message = self._message(self._joined(person, channel), ts)
        if message.author != person.id:
            raise NotPossible("cant_delete_message", "users delete only their own messages")
        self._workspace.withdraw(message)

    def react(self, person: WorkspaceUser, channel: str, ts: str, name: str, *, remove: bool = False) -> None:
        message = self._message(self._joined(person, channel), ts)
        self._workspace.react(message, name.strip(":"), person.id, add=not remove)

    def read(self, person: WorkspaceUser, channel: str) -> None:
        """Read a channel to its end."""
        room, state = self._readable(person, channel), self._workspace.state
        state.read_up_to[person.id, room.id] = state.timeline(room.id).newest

    # -- the app's buttons, shortcuts and commands --------------------------------------------------------------------

    def click(self, person: WorkspaceUser, channel: str, ts: str, action_id: str, value: str = "") -> bool:
        """Click a button of a message."""
        workspace, room = self._workspace, self._joined(person, channel)
        alone = (one for one in workspace.state.ephemerals.get(person.id, ()) if (one.channel, one.ts) == (room.id, ts))
        message = next(alone, None) or self._message(room, ts)
        action = self._action(message.blocks, action_id, value)
        container: Json = {"type": "message", "message_ts": message.ts, "channel_id": message.channel}
        container["is_ephemeral"] = workspace.state.message(message.channel, message.ts) is None
        if message.thread_ts:
            container["thread_ts"] = message.thread_ts
        return self._interact(
            "block_actions",
            person,
            container=container,
            **self._shown(message, room),
            state={"values": {}},
            response_url=workspace.interactions.new_response_url(workspace.state.url, person.id, room.id, ts),
            actions=[action | {"action_ts": workspace.new_ts(room.id)}],
        )

    def press_home(self, person: WorkspaceUser, action_id: str) -> bool:
        """Press a button on the user's home tab."""
        view = self._workspace.state.homes.get(person.id) or {"id": "", "blocks": []}
        action = self._action(view["blocks"], action_id) | {"action_ts": f"{self._workspace.clock.now():.6f}"}
        container = {"type": "view", "view_id": view["id"]}
        return self._interact("block_actions", person, container=container, view=view, actions=[action])

    def shortcut(self, person: WorkspaceUser, channel: str, ts: str, callback_id: str) -> bool:
        """Use a message shortcut of the app."""
        workspace, room = self._workspace, self._readable(person, channel)
        message = self._message(room, ts)
        if callback_id not in {one.callback_id for one in workspace.state.app.shortcuts}:
            raise NotPossible("shortcut_not_found", f"the app has no message shortcut {callback_id!r}")
        self._require_commands()
        return self._interact(
            "message_action",
            person,
            callback_id=callback_id,
            action_ts=workspace.new_ts(room.id),
            **self._shown(message, room),
            message_ts=message.ts,
            response_url=workspace.interactions.new_response_url(workspace.state.url, person.id, room.id),
        )

    def command(self, person: WorkspaceUser, channel: str, command: str, text: str = "") -> bool:
        """Type a slash command. The app's acknowledgement may carry a reply."""
        workspace, room = self._workspace, self._joined(person, channel)
        self._require_commands()
        if command not in {one.command for one in workspace.state.app.commands}:
            raise NotPossible("unknown_command", f"{command} is not a valid command")
        payload = {
            "token": "local",
            "team_id": workspace.state.team.id,
            "team_domain": workspace.state.team.domain,
            "channel_id": room.id,
            "channel_name": room.name or "directmessage",
            "user_id": person.id,
            "user_name": person.name,
            "command": command,
            "text": text,
            "api_app_id": workspace.state.app.app_id,
            "is_enterprise_install": "false",
            "trigger_id": workspace.interactions.new_trigger(person.id),
            "response_url": workspace.interactions.new_response_url(workspace.state.url, person.id, room.id),
        }

        def answered(answer: Json | None) -> None:
            blocks = tuple((answer or {}).get("blocks") or ())
            if answer and (answer.get("text") or blocks):
                draft = WorkspaceMessage(room.id, workspace.state.app.user, str(answer.get("text", "")), blocks=blocks)
                workspace.respond(person.id, draft, in_channel=answer.get("response_type") == "in_channel")

        return workspace.deliveries.once("slash_commands", payload, answered)

    def stop(self, person: WorkspaceUser, channel: str, thread: str) -> str:
        """Press the stop button of a thread in which the app's session works. Return the event id."""
        room = self._joined(person, channel)
        root = self._message(room, thread)
        session = self._workspace.state.sessions.get((room.id, root.thread_ts or root.ts))
        if session is None or session.status != "processing":
            raise NotPossible("session_not_found", "no session is at work in this thread")
        return self._workspace.stop_session(root, person.id)

    def rename_session(self, person: WorkspaceUser, channel: str, thread: str, title: str) -> str:
        """Rename an agent session. Return the event id."""
        session = self._workspace.state.sessions.get((self._joined(person, channel).id, thread))
        if session is None:
            raise NotPossible("session_not_found", "there is no session in this thread")
        if not 0 < len(title) <= _TITLE:
            raise NotPossible("invalid_title", f"a title has at most {_TITLE} characters")
        return self._workspace.rename_session(session, title, person.id)

    def submit(self, person: WorkspaceUser, view: str, values: Json) -> bool:
        """Submit an open modal with its inputs' values by action_id. The app's acknowledgement ends it."""
        modal = self._open_modal(person, view)
        if modal is None:
            raise NotPossible("view_not_found", f"{person.display_name} has no dialog {view!r} open")
        filled = {
            name: [str(one) for one in value] if isinstance(value, list) else str(value)
            for name, value in values.items()
        }
        try:
            return send_dialog(self._workspace, person, modal, filled)
        except NotFilledIn as missing:
            raise NotPossible("invalid_arguments", str(missing)) from missing

    def close(self, person: WorkspaceUser, view: str) -> None:
        """Close a modal without submitting it."""
        if self._open_modal(person, view) is not None:
            end_dialogs(self._workspace, person.id, view)

    def open_dm(self, person: WorkspaceUser) -> Json:
        """Open the user's DM with the app."""
        event_id = self._workspace.open_home(person.id, "messages")
        return {"channel": self._workspace.open_dm(person.id).id, "event_id": event_id}

    def open_home(self, person: WorkspaceUser) -> Json:
        event_id = self._workspace.open_home(person.id, "home")
        return {"view": self._workspace.state.homes.get(person.id), "event_id": event_id}

    # -- channels -----------------------------------------------------------------------------------------------------

    def join(self, person: WorkspaceUser, channel: str, inviter: WorkspaceUser | None = None) -> None:
        self._workspace.join(self._channel(channel), person.id, inviter.id if inviter else "")

    def leave(self, person: WorkspaceUser, channel: str) -> None:
        self._workspace.leave(self._channel(channel), person.id)

    def convert(self, person: WorkspaceUser, channel: str, kind: ChannelKind) -> None:
        """Make a channel private (`group`) or public (`channel`)."""
        room = self._joined(person, channel)
        if not {kind, room.kind} <= {ChannelKind.PUBLIC, ChannelKind.PRIVATE}:
            raise NotPossible("method_not_supported_for_channel_type", "a channel becomes `group` or `channel`")
        self._workspace.convert(room, kind, person.id)

    def archive(self, person: WorkspaceUser, channel: str, *, end: bool = False) -> None:
        """Archive a channel, or end that."""
        self._workspace.archive(self._channel(channel), person.id, archived=not end)

    def _file(self, item: Json, owner: str) -> File:
        name = str(item.get("name") or "file.txt").replace("/", "_")
        try:
            content = (
                base64.b64decode(item["base64"], validate=True) if "base64" in item else str(item["text"]).encode()
            )
        except (KeyError, TypeError, binascii.Error, ValueError) as error:
            raise NotPossible("invalid_arguments", "a file needs `text` or valid `base64`") from error
        mimetype = str(item.get("mimetype") or mimetypes.guess_type(name)[0] or "application/octet-stream")
        created = int(self._workspace.clock.now())
        return File(self._workspace.state.new_id("F"), name, name, mimetype, content, owner, created, shared=True)

    def _action(self, blocks: Sequence[Json], action_id: str, value: str = "") -> Json:
        found = find_element(blocks, action_id)
        if found is None:
            raise NotPossible("action_not_found", f"there is no element with the action_id {action_id!r}")
        block, element = found
        chosen = choice(element, value)
        if chosen is None:
            raise NotPossible("value_not_found", f"the element does not offer the value {value!r}")
        block_id = block.get("block_id") or secrets.token_urlsafe(3)
        shown = {name: part for name, part in chosen.items() if part is not None}
        return {"type": element["type"], "action_id": action_id, "block_id": block_id} | shown

    def _shown(self, message: WorkspaceMessage, room: WorkspaceChannel) -> Json:
        """Return the message and channel of an interaction payload."""
        return {
            "channel": {"id": room.id, "name": room.name or "directmessage"},
            "message": message_json(self._workspace.state, message),
        }

    def _interact(self, kind: str, person: WorkspaceUser, **fields: object) -> bool:
        trigger = self._workspace.interactions.new_trigger(person.id)
        payload = interaction(self._workspace.state, kind, person, trigger) | fields
        return self._workspace.deliveries.once("interactive", payload)

    def _require_commands(self) -> None:
        if "commands" not in self._workspace.scopes:
            raise NotPossible("missing_scope", "the app lacks the scope `commands`")

    def _open_modal(self, person: WorkspaceUser, view: str) -> Modal | None:
        modal = self._workspace.modals.get(view)
        return modal if modal is not None and modal.person == person.id else None
