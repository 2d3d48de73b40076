"""The journey in English: Ada, whose Slack speaks English."""

from typing import Final

from daemon.core.sentences import SENTENCES
from tests.page.lines import Exchange, Lines, Search

_IMPORTS: Final = """\
# Imports

The nightly import reads the events of one day in batches of 50,000 rows.

Since Tuesday's release each row's country is looked up by itself, not once a batch: an import of a million rows makes a
million requests. Setting `IMPORT_LOOKUP=batch` brings the old way back until the next release.
"""
_RELEASES: Final = """\
# Releases

Tuesday's release moved the country lookup of the nightly import into a service of its own.
"""
_TIMES: Final = """\
night,rows of the nightly import,minutes
Monday,1020000,41
Tuesday,1018000,187
"""

ENGLISH: Final = Lines(
    person="Ada",
    locale="en-US",
    zone="",
    greeting=Exchange(
        "good morning! I'm Ada, I look after the imports.",
        "Good morning, Ada, and welcome. I'm Kothar; I mend things here, mostly by asking early.\n\n"
        "Imports are a good place to begin: is one of them giving you trouble today?",
        "welcome",
        "New here. Don't overwhelm her.",
        learned=True,
    ),
    trouble=Exchange(
        "The nightly one is slow.",
        "Then tell me when it began, and I'll look at what changed that day.",
        "when it began",
        learned=True,
    ),
    back=Exchange(
        "I'm back. The import is fixed!",
        "There you are again, and with good news. **Fixed** is a fine word: was it the lookup, as it seemed yesterday?",
        "There you are again",
        "Visit two. The import she worried about.",
        learned=True,
        moved=True,
    ),
    poem=Exchange(
        "Write me a haiku about the nightly import.",
        "Night ships unload rows,\nthe quay lamp counts them twice — once\nfor the sea, once home.",
        "Night ships",
        "Rows, and who counts them.",
        wish="poem",
    ),
    scholarly=Exchange(
        "Is Linear A related to Linear B? I'd like a scholarly answer.",
        "**What is certain.** The two scripts share some sixty signs, and Linear B was made from Linear A.\n\n"
        "**What is widely held.** The *scripts* are kin, the *languages* are not: Linear B writes Greek; the language "
        "of Linear A is unknown.\n\n"
        "**What a minority holds.** Gordon read it as Semitic. The argument rests on few words, *ku-ro* (“total”) "
        "among them, and most epigraphers are not convinced.\n\n"
        "**My own guess** is worth little here: the corpus is too small.",
        "widely held",
        "Keep the weights apart.",
        wish="scholarship",
    ),
    search=Search(
        "why is the nightly import slower since Tuesday?",
        "nightly import lookup Tuesday release",
        "what changed on Tuesday",
        "the cause and the setting",
        "Since Tuesday's release every row looks its country up by itself; before, one lookup served a whole batch "
        "[{imports}]. The lookup has become a service of its own [{releases}], so a million rows are a million "
        "requests: 187 minutes instead of 41 [{times}].\n\n"
        "Setting `IMPORT_LOOKUP=batch` brings the old way back until the next release [{imports}].",
        {"imports.md": _IMPORTS, "releases.md": _RELEASES, "times.csv": _TIMES},
    ),
    note=Exchange(
        "look into the shelf and note that we freeze on Friday",
        "It is noted: **we freeze on Friday**.",
        "It is noted",
        "Freeze on Friday",
        wish="research",
    ),
    other_soul=Exchange(
        "what do you look after?",
        "The hearth, and the words that are meant to last. Bring me a launch to sing.",
        "The hearth",
    ),
    reminder=Exchange(
        "Remind me of the standup in 20 minutes.",
        "At {time} I'll bring it up.",
        "I'll bring it up",
        wish="reminder",
    ),
    due=Exchange(
        "The standup begins: mention the import.",
        "It's time, Ada: **the standup**. You wanted to tell them about the import.",
        "It's time, Ada",
    ),
    noticed="Looks after the nightly imports",
    guessed="I would like my team to see how much work this was.",
    house={key: SENTENCES[key] for key in ("doing_respond", "approve", "allowed", "good_label", "doing_think")},
)
