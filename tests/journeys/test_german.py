"""What Kothar's daemon says to Dora, whose Slack speaks German: no sentence of the house reaches her in English."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from daemon.core.errors import ModelUnavailable
from daemon.core.ports.services import Prompt
from daemon.core.sentences import SENTENCES
from daemon.local_slack.model import Json
from tests.given import shown, tagged, wanting
from tests.journeys.house import House, said
from tests.journeys.problems import NO, SHELF, YES, buttons, lines, press, shelf, using
from tests.journeys.souls import write_soul
from tests.models import Reply, Script
from tests.unit.ism_parts import chosen

SOULS = Path(__file__).parents[2] / "souls"
MINUTE = 60.0


async def dora(house: House, *, standing: str = "member") -> str:
    """Dora, with German as the language of her Slack; gives the id of her DM."""
    await house.people.add_person("Dora", standing=standing, locale="de-DE", zone="Europe/Berlin")
    return await house.people.open_dm("Dora")


async def asks_for_the_shelf(house: House, note: Path) -> Json:
    """Kothar asks Dora whether he may use the tool that writes; gives the question."""
    await house.start(mcp_servers=shelf(note.parent), ism_enabled=True)
    room = await dora(house)
    house.model.steps["respond"].append(wanting("research"))
    house.model.steps["choose_actions"].append(chosen(("Research", "aufschreiben")))
    house.model.steps["use_tool"].append(using(SHELF, path=str(note), text="der Ofen reißt"))
    await house.say("Dora", "dm", "schreib auf, dass der Ofen reißt")
    question = await house.reply(room, "Darf ich?")
    await house.idle()
    return question


async def as_it_stands(house: House, post: Json) -> Json:
    """A message of the soul as it is shown now."""
    room = await house.people.open_dm("Dora")
    return next(one for one in await house.people.posts_by_bot(room) if one["ts"] == post["ts"])


@pytest.mark.parametrize(
    ("action", "outcome"), [(YES, "_Erlaubt._"), pytest.param(NO, "_Abgelehnt._", marks=pytest.mark.slow)]
)
async def test_a_permission_its_buttons_and_its_outcome_are_german(
    empty_house: House, tmp_path: Path, action: str, outcome: str
) -> None:
    house, note = empty_house, tmp_path / "note.txt"
    question = await asks_for_the_shelf(house, note)
    assert said(question).startswith(f"Um weiterzukommen, würde ich `{SHELF}` mit genau diesen Angaben verwenden.")
    labels = [one["text"]["text"] for block in question["blocks"] for one in block.get("elements", ()) if "text" in one]
    assert labels == ["Erlauben", "Ablehnen"]
    house.model.steps["choose_actions"].append(chosen("Respond"))
    house.model.steps["external_dialog"].append("So sei es.")
    room = await house.people.open_dm("Dora")
    assert await press(house, "Dora", room, question["ts"], action) == "accepted"
    done = f"\n\n_(`{SHELF}`: einmal getan, wie erlaubt.)_" if action == YES else ""
    assert said(await house.reply(room, "So sei es.")) == f"So sei es.{done}"
    await house.idle()
    decided = await as_it_stands(house, question)
    assert said(decided).endswith(f"\n\n{outcome}")
    assert buttons(decided) == []
    assert lines(note) == (action == YES)


async def test_a_guest_is_refused_in_german(house: House) -> None:
    await dora(house, standing="guest")
    await house.people.join("Dora", "general")
    await house.say("Dora", "general", "@soul bist du da?")
    await house.acknowledged()
    await house.idle()
    (whisper,) = await house.whispers("Dora")
    assert whisper.startswith("Ich spreche leider nur mit vollen Mitgliedern")


async def test_the_status_line_is_german_while_it_thinks_and_while_it_works(empty_house: House, tmp_path: Path) -> None:
    house = empty_house
    await house.people.fault(chunks=False)
    (tmp_path / "regal").mkdir()
    (tmp_path / "regal" / "ofen.md").write_text("Der Ofen reißt am Rand.", encoding="utf-8")
    await house.start(library_public=(tmp_path / "regal",))
    await dora(house)
    statuses = list[str]()

    def once_shown(status: str, answer: str) -> Script:
        """The model's answer, which waits until this status line is set."""

        async def answers(_: Prompt) -> Reply:
            async def is_set() -> bool | None:
                calls = await house.people.calls("assistant.threads.setStatus")
                return any(call["args"]["status"] == status for call in calls) or None

            await house.until(is_set)
            statuses.append(status)
            return answer

        return answers

    house.model.steps["respond"].append(once_shown("wägt es ab…", wanting("research")))
    house.model.steps["choose_actions"] += [chosen(("Think", "der Ofen")), chosen("Respond")]
    house.model.steps["internal_monologue"].append(once_shown("arbeitet: Durchdenken…", "Hm."))
    house.model.steps["external_dialog"].append(once_shown("arbeitet: Die Antwort schreiben…", "Er kühlt zu schnell."))
    assert await house.answered("Dora", "dm", "warum reißt der Ofen?") == "Er kühlt zu schnell."
    assert len(statuses) == 3


def test_kothar_has_every_sentence_of_the_house_in_german() -> None:
    words = tomllib.loads((SOULS / "minoan" / "soul.toml").read_text(encoding="utf-8"))["words"]
    assert set(SENTENCES) - set(words["de"]) == set()


async def test_a_thread_is_handed_over_in_german(empty_house: House) -> None:
    write_soul(empty_house.settings.home, "rolf", shown="Rolf", personality="You are Rolf, a sailor.")
    await empty_house.start(souls=("rolf",), souls_dir=None)
    room = await dora(empty_house)
    refused = await empty_house.answered("Dora", "dm", "gib diesen Thread an Cleo")
    assert refused.startswith("Eine Seele namens Cleo ist gerade nicht da, also antworte ich weiter.")
    await empty_house.say("Dora", "dm", "Gib diesen Thread an Rolf weiter.")
    given = await empty_house.reply(room, "Ab jetzt antwortet hier Rolf; was gesagt wurde, ist übergeben.")
    await empty_house.reply(room, "From now on I answer here in place of Kothar")  # Rolf has no German
    await empty_house.idle()
    assert given["thread_ts"]
    await empty_house.answered("Dora", "dm", "Hallo")
    assert "You are Rolf" in empty_house.last_prompt()


async def test_what_the_house_itself_says_is_german(house: House) -> None:
    await dora(house)
    all_of_them = await house.answered("Dora", "dm", "Wer arbeitet woran?")
    assert all_of_them.startswith("Ich weiß von keiner Sitzung von Claude Code")
    adas = await house.answered("Dora", "dm", "woran arbeitet <@U0ADA> gerade?")
    assert adas.startswith("Ich weiß von keiner Sitzung von")
    assert house.prompts == []
    wish = json.dumps({"what": "der Ofen", "unknown_zone": "Europe/Atlantis"})
    house.model.replies += [wanting("reminder"), wish, tagged("Hm.")]
    answer = await house.answered("Dora", "dm", "erinnere mich um 9 Uhr Europe/Atlantis an den Ofen")
    assert "Eine Zeitzone Europe/Atlantis kenne ich nicht, darum ist keine Erinnerung gesetzt." in answer
    noted = await house.answered("Dora", "dm", "merk dir, dass ich Töpferin in Bremen bin")
    assert "Notiert: dass ich Töpferin in Bremen bin" in noted
    known = await house.answered("Dora", "dm", "was weißt du über mich")
    assert "Das weiß ich über dich:" in known
    assert "Zu einer Zeile sag *warum 1*, *falsch 1: was richtig ist*" in known
    room = await house.people.open_dm("Dora")
    wish = json.dumps({"when": "in 20m", "what": "der Ofen", "drop": []})
    house.model.replies += [wanting("reminder"), wish, tagged("Gut, ich melde mich.")]
    await house.answered("Dora", "dm", "Erinnere mich in 20 Minuten an den Ofen")
    assert re.search(r"You have set a reminder for \w+, [\d-]+ \d\d:\d\d \(Europe/Berlin\)", shown(house.prompts[-1]))
    house.model.default = ModelUnavailable("it is down")
    house.clock.turn(20 * MINUTE + 1)
    failed = said(await house.reply(room, "Das war fällig:"))
    assert failed.startswith("Verzeih: das Modell, mit dem ich denke, ist gerade nicht zu erreichen.")
    assert "der Ofen" in failed
