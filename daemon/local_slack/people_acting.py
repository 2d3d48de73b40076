"""What people do in the workspace: say, edit, delete, react, press, command; checked as Slack's client would."""

import secrets
from collections.abc import Sequence
from dataclasses import replace

from daemon.local_slack.interactions import Press, block_actions, choice, find_element, slash_command
from daemon.local_slack.model import Channel, File, Json, Message, Person, Standing
from daemon.local_slack.text import rich_text, typed
from daemon.local_slack.workspace import Workspace, new_client_msg_id


class NotPossible(Exception):
    """A person asked for something that Slack would not let them do; `hint` says what would work."""

    def __init__(self, error: str, hint: str = "") -> None:
        super().__init__(error)
        self.error = error
        self.hint = hint


class PeopleActing:
    """The verbs of people. All raise NotPossible with a Slack-like name."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def person(self, name: str) -> Person:
        """Somebody by id or name."""
        person = self._workspace.state.person_named(name) if name else None
        if person is None:
            raise NotPossible("user_not_found", f"there is nobody called {name!r}; add them with /_control/person")
        return person

    def readable(self, person: Person, name: str) -> Channel:
        """A channel that a person may read, by id, by name, or `dm` for their DM with the app."""
        state = self._workspace.state
        room = self._workspace.open_dm(person.id) if name == "dm" else state.channel_named(name)
        if room is None or not state.sees(person.id, room):
            raise NotPossible("channel_not_found", f"{person.display_name} sees no channel {name!r}")
        return room

    def joined(self, person: Person, name: str) -> Channel:
        """A channel that a person is a member of."""
        room = self.readable(person, name)
        if person.id not in room.members:
            raise NotPossible("not_in_channel", f"let {person.display_name} join first, with /_control/join")
        if room.archived or person.standing is Standing.DEACTIVATED:
            raise NotPossible("is_archived" if room.archived else "account_inactive")
        return room

    def message(self, room: Channel, ts: str) -> Message:
        """A message of a channel."""
        message = self._workspace.state.message(room.id, ts)
        if message is None or message.subtype == "tombstone":
            raise NotPossible("message_not_found", f"no message {ts!r} in {room.id}")
        return message

    def say(
        self,
        person: Person,
        room: Channel,
        text: str,
        *,
        thread: str = "",
        broadcast: bool = False,
        files: Sequence[File] = (),
    ) -> Message:
        """Post typed words and files; `@Name` becomes a mention, & < > are escaped."""
        if not text.strip() and not files:
            raise NotPossible("no_text", "say something or attach a file")
        root = self.message(room, thread) if thread else None
        self._workspace.state.files.update((file.id, file) for file in files)
        stored = self._typed(text)
        draft = Message(
            room.id,
            person.id,
            stored,
            thread_ts=(root.thread_ts or root.ts) if root else "",
            broadcast=broadcast and root is not None,
            subtype="thread_broadcast" if broadcast and root else "file_share" if files else "",
            client_msg_id="" if person.is_bot else new_client_msg_id(),
            blocks=() if person.is_bot or not stored else (rich_text(stored),),
            files=tuple(file.id for file in files),
        )
        message = self._workspace.post(draft)
        self._workspace.state.read_up_to[person.id, room.id] = message.ts
        return message

    def edit(self, person: Person, room: Channel, ts: str, text: str) -> Message:
        """Change one's own words."""
        message = self.message(room, ts)
        if message.author != person.id:
            raise NotPossible("cant_update_message", "people edit only what they wrote themselves")
        stored = self._typed(text)
        stamp = self._workspace.state.timeline(room.id).next_ts(self._workspace.clock.now())
        edited = replace(message, text=stored, blocks=(rich_text(stored),), edited_by=person.id, edited_ts=stamp)
        return self._workspace.revise(edited)

    def delete(self, person: Person, room: Channel, ts: str) -> None:
        """Take back one's own message."""
        message = self.message(room, ts)
        if message.author != person.id:
            raise NotPossible("cant_delete_message", "people delete only what they wrote themselves")
        self._workspace.withdraw(message)

    def react(self, person: Person, room: Channel, ts: str, name: str, *, add: bool) -> bool:
        """Add or take back an emoji; false when nothing had to change."""
        return self._workspace.react(self.message(room, ts), name.strip(":"), person.id, add=add)

    def click(self, person: Person, room: Channel, ts: str, action_id: str, value: str) -> bool:
        """Press a button; false when no socket was open to hear of it."""
        workspace = self._workspace
        message = self.message(room, ts)
        found = find_element(message, action_id)
        if found is None:
            raise NotPossible("action_not_found", f"the message has no element with the action_id {action_id!r}")
        block, element = found
        chosen = choice(element, value)
        if chosen is None:
            raise NotPossible("value_not_found", f"the element does not offer the value {value!r}")
        stamp = workspace.state.timeline(room.id).next_ts(workspace.clock.now())
        action = {
            "type": element["type"],
            "action_id": action_id,
            "block_id": block.get("block_id") or secrets.token_urlsafe(3),
            "action_ts": stamp,
        } | {name: part for name, part in chosen.items() if part is not None}
        response_url = workspace.interactions.new_response_url(workspace.url, person.id, room.id, ts)
        press = Press(person, room, message, action, workspace.interactions.new_trigger(person.id), response_url)
        payload = block_actions(workspace.state, press, workspace.url)
        return workspace.deliveries.once("interactive", payload)

    def command(self, person: Person, room: Channel, command: str, text: str) -> bool:
        """Type a slash command; the app's acknowledgement may carry the first answer. False when no socket was open."""
        workspace = self._workspace
        payload = slash_command(workspace.state, person, room, command, text)
        payload["trigger_id"] = workspace.interactions.new_trigger(person.id)
        payload["response_url"] = workspace.interactions.new_response_url(workspace.url, person.id, room.id)

        def answered(answer: Json | None) -> None:
            words = str((answer or {}).get("text", ""))
            blocks = tuple((answer or {}).get("blocks") or ())
            if not words and not blocks:
                return
            draft = Message(room.id, workspace.state.app.user, words, blocks=blocks)
            if (answer or {}).get("response_type") == "in_channel":
                workspace.post(draft)
            else:
                workspace.show_to_one(person.id, draft)

        return workspace.deliveries.once("slash_commands", payload, answered)

    def _typed(self, text: str) -> str:
        state = self._workspace.state
        aliases = {"soul": state.app.user}
        return typed(text, state.people.values(), state.channels.values(), aliases)
