"""Shows a person their home tab (Slack: App Home, views.publish), within Slack's sizes."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from daemon.channels.slack.client import SlackClient
from daemon.channels.slack.dialog_forms import correction_dialog, plain_text
from daemon.channels.slack.event_reader import HOME_ACTION, EventReader
from daemon.channels.slack.home_acts import CORRECTS, opened, pressed
from daemon.channels.slack.markup import inert
from daemon.channels.slack.mrkdwn import to_mrkdwn
from daemon.channels.slack.private_answers import PrivateAnswers
from daemon.core.home import HomeButton, HomeItem, HomePage, HomeSection
from daemon.core.text import shortened

_BLOCKS: Final = 100
_TITLE, _SECTION, _BUTTON = 150, 2_900, 75
_LARGEST: Final = 60_000  # characters of all texts; Slack takes some 250 kB a view


@dataclass(frozen=True, slots=True)
class HomeTab:
    """What the home tab needs beside the page: a refusal for who may not talk with the soul, and a dialog for words."""

    client: SlackClient
    reader: EventReader
    answers: PrivateAnswers

    def heed(self, body: Mapping[str, Any]) -> None:
        """Take note of a payload; returns at once."""
        if (act := opened(body, self.reader)) is not None:
            self.answers.later(partial(self._refuse, act.author))
        elif (act := pressed(body, self.reader)) is not None and act.home.startswith(CORRECTS):
            self.answers.later(partial(self._ask, act.author, act.home.partition(" ")[2], body))

    async def _refuse(self, person: str) -> None:
        decision = await self.answers.standing_of(person)
        if decision.admitted:
            return
        words = await self.answers.words_for("", person)
        said = words.tell(decision.say) if decision.say else words.say("command_refused")
        page = (HomeSection(words.say("home_well"), (HomeItem(said),)),)
        await self.client.call("views.publish", user_id=person, view=home_view(page))

    async def _ask(self, person: str, fact: str, body: Mapping[str, Any]) -> None:
        view = correction_dialog(await self.answers.words_for("", person), fact)
        await self.answers.open(body, view)


def home_view(page: HomePage) -> dict[str, Any]:
    """The view of a page; what is beyond Slack's sizes is left out at its end."""
    blocks, size = list[dict[str, Any]](), 0
    for section in page:
        items = [_item(item, len(blocks) + place) for place, item in enumerate(section.items)]
        made = [{"type": "header", "text": plain_text(section.title, _TITLE)}, *(one for item in items for one in item)]
        size += sum(len(item.text) for item in section.items)
        if len(blocks) + len(made) >= _BLOCKS or size > _LARGEST:
            break
        blocks += [*made, {"type": "divider"}]
    return {"type": "home", "callback_id": HOME_ACTION, "blocks": blocks[:-1]}


def _item(item: HomeItem, number: int) -> list[dict[str, Any]]:
    text = shortened(to_mrkdwn(inert(item.text)), _SECTION)
    blocks: list[dict[str, Any]] = [{"type": "section", "text": {"type": "mrkdwn", "text": text}}]
    if item.buttons:
        made = [_button(one, f"{HOME_ACTION}:{number}:{place}") for place, one in enumerate(item.buttons)]
        blocks.append({"type": "actions", "elements": made})
    return blocks


def _button(button: HomeButton, action_id: str) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "button", "action_id": action_id, "value": button.does}
    made["text"] = plain_text(button.label, _BUTTON)
    if button.asks:
        label = plain_text(button.label, 30)
        words = {"title": label, "text": plain_text(button.asks, 300), "confirm": label}
        made["confirm"] = words | {"deny": plain_text("✕", 30)}
    return made
