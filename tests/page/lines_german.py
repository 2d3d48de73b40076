"""The journey in German: Dora, whose Slack speaks German; the daemon's own words are those of Kothar's `[words.de]`."""

from typing import Final

from tests.page.lines import Exchange, Lines, Search

_IMPORT: Final = """\
# Import

Der nächtliche Import liest die Ereignisse eines Tages in Stapeln von 50.000 Zeilen.

Seit der Version vom Dienstag wird das Land jeder Zeile einzeln nachgeschlagen, nicht mehr einmal je Stapel: Ein Import
mit einer Million Zeilen stellt eine Million Anfragen. `IMPORT_LOOKUP=batch` stellt das bis zur nächsten Version zurück.
"""
_VERSIONS: Final = """\
# Versionen

Die Version vom Dienstag gab dem Nachschlagen des Landes im nächtlichen Import einen eigenen Dienst.
"""
_TIMES: Final = """\
Nacht,Zeilen im nächtlichen Import,Minuten
Montag,1020000,41
Dienstag,1018000,187
"""

GERMAN: Final = Lines(
    person="Dora",
    locale="de-DE",
    zone="Europe/Berlin",
    greeting=Exchange(
        "Guten Morgen! Ich bin Dora und kümmere mich um die Importe.",
        "Guten Morgen, Dora, und willkommen. Ich bin Kothar; ich richte hier Dinge, meist indem ich früh frage.\n\n"
        "Importe sind ein guter Anfang: Macht dir heute einer davon Ärger?",
        "willkommen",
        "Neu hier. Nicht überrumpeln.",
        learned=True,
    ),
    trouble=Exchange(
        "Der nächtliche ist langsam.",
        "Dann sag mir, seit wann, und ich sehe nach, was sich an dem Tag geändert hat.",
        "seit wann",
        learned=True,
    ),
    back=Exchange(
        "Da bin ich wieder. Der Import ist geheilt!",
        "Da bist du ja wieder, und mit guter Nachricht. **Geheilt** ist ein schönes Wort: War es das Nachschlagen?",
        "Da bist du ja wieder",
        "Der zweite Besuch. Der Import, der ihr Sorgen machte.",
        learned=True,
        moved=True,
    ),
    poem=Exchange(
        "Schreib mir ein Haiku über den nächtlichen Import.",
        "Nachtschiffe löschen,\ndie Lampe zählt alles zweimal —\nfürs Meer und fürs Heim.",
        "Nachtschiffe",
        "Zeilen, und wer sie zählt.",
        wish="poem",
    ),
    scholarly=Exchange(
        "Ist Linear A mit Linear B verwandt? Bitte eine wissenschaftliche Antwort.",
        "**Was sicher ist.** Die beiden Schriften teilen etwa sechzig Zeichen; Linear B entstand aus Linear A.\n\n"
        "**Was weithin gilt.** Die *Schriften* sind verwandt, die *Sprachen* nicht: Linear B schreibt Griechisch; die "
        "Sprache von Linear A ist unbekannt.\n\n"
        "**Was eine Minderheit meint.** Gordon las sie als semitisch. Das ruht auf wenigen Wörtern, darunter *ku-ro* "
        "(„Summe“), und die meisten Epigraphiker überzeugt es nicht.\n\n"
        "**Meine eigene Vermutung** ist hier wenig wert: Es gibt zu wenig Text.",
        "weithin gilt",
        "Die Gewichte auseinanderhalten.",
        wish="scholarship",
    ),
    search=Search(
        "warum ist der nächtliche Import seit Dienstag langsamer?",
        "nächtlicher Import Dienstag Version",
        "was sich am Dienstag geändert hat",
        "die Ursache und die Einstellung",
        "Seit der Version vom Dienstag schlägt jede Zeile ihr Land selbst nach; vorher genügte einmal je Stapel "
        "[{import}]. Das Nachschlagen ist jetzt ein eigener Dienst [{versionen}], eine Million Zeilen sind also eine "
        "Million Anfragen: 187 Minuten statt 41 [{zeiten}].\n\n"
        "`IMPORT_LOOKUP=batch` stellt das bis zur nächsten Version zurück [{import}].",
        {"import.md": _IMPORT, "versionen.md": _VERSIONS, "zeiten.csv": _TIMES},
    ),
    note=Exchange(
        "sieh im Regal nach und notiere, dass wir am Freitag einfrieren",
        "Es ist notiert: **Am Freitag frieren wir ein**.",
        "Es ist notiert",
        "Am Freitag wird eingefroren",
        wish="research",
    ),
    other_soul=Exchange(
        "worum kümmerst du dich?",
        "Um den Herd und um die Worte, die bleiben sollen. Bring mir einen Stapellauf zum Besingen.",
        "Um den Herd",
    ),
    reminder=Exchange(
        "Erinnere mich in 20 Minuten an die Besprechung.",
        "Gut, um {time} Uhr melde ich mich.",
        "melde ich mich",
        wish="reminder",
    ),
    due=Exchange(
        "Die Besprechung beginnt: den Import erwähnen.",
        "Es ist Zeit, Dora: **die Besprechung**. Du wolltest vom Import erzählen.",
        "Es ist Zeit, Dora",
    ),
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
