"""The journey in German: Dora, whose Slack speaks German; the daemon's own words are those of Kothar's `[words.de]`."""

from typing import Final

from tests.page.lines import Exchange, Lines, Search

_IMPORT: Final = "# Import\n\nSeit der Version vom Dienstag schlägt der nächtliche Import jedes Land einzeln nach.\n"
_VERSIONS: Final = "# Versionen\n\nDie Version vom Dienstag gab dem nächtlichen Import dafür einen eigenen Dienst.\n"
_TIMES: Final = "Nacht,Zeilen im nächtlichen Import,Minuten\nMontag,1020000,41\nDienstag,1018000,187\n"

GERMAN: Final = Lines(
    person="Dora",
    locale="de-DE",
    zone="Europe/Berlin",
    greeting=Exchange(
        "Guten Morgen! Ich bin Dora und kümmere mich um die Importe.", "Willkommen!", "Willkommen", learned=True
    ),
    trouble=Exchange("Der nächtliche ist langsam.", "Dann sag mir, seit wann.", "seit wann", learned=True),
    back=Exchange(
        "Da bin ich wieder. Der Import ist geheilt!", "Da bist du ja wieder.", "wieder", learned=True, moved=True
    ),
    poem=Exchange("Schreib mir ein Haiku.", "Nachtschiffe löschen,\ndie Lampe zählt.", "Nachtschiffe", wish="poem"),
    scholarly=Exchange(
        "Ist Linear A mit Linear B verwandt?",
        "**Was weithin gilt.** Die Schriften.",
        "weithin gilt",
        wish="scholarship",
    ),
    search=Search(
        "warum ist der nächtliche Import seit Dienstag langsamer?",
        "nächtlicher Import Dienstag Version",
        "was sich am Dienstag geändert hat",
        "die Ursache und die Einstellung",
        "Jede Zeile fragt selbst [{import}], bei einem eigenen Dienst [{versionen}]: 187 Minuten statt 41 [{zeiten}].",
        {"import.md": _IMPORT, "versionen.md": _VERSIONS, "zeiten.csv": _TIMES},
    ),
    note=Exchange(
        "sieh im Regal nach und notiere, dass wir am Freitag einfrieren",
        "Es ist notiert: **Am Freitag frieren wir ein**.",
        "Es ist notiert",
        "Am Freitag wird eingefroren",
        wish="research",
    ),
    other_soul=Exchange("worum kümmerst du dich?", "Um den Herd und um die Worte, die bleiben.", "Um den Herd"),
    reminder=Exchange(
        "Erinnere mich in 20 Minuten daran.", "Gut, um {time} Uhr melde ich mich.", "melde ich mich", wish="reminder"
    ),
    due=Exchange("Die Besprechung beginnt: den Import erwähnen.", "Es ist Zeit, Dora.", "Es ist Zeit, Dora"),
    noticed="Kümmert sich um die nächtlichen Importe",
    guessed="Ich möchte, dass mein Team sieht, wie viel Arbeit das war.",
    house={
        "doing_respond": "Die Antwort schreiben",
        "doing_think": "Durchdenken",
        "approve": "Erlauben",
        "allowed": "Erlaubt.",
        "good_label": "Diese Antwort als gut bewerten",
    },
)
