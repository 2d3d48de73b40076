"""Writes `docs/PHRASES.md`: what is obeyed without a model, and the slash command, from the one table of phrases."""

import sys
from collections.abc import Iterator
from pathlib import Path

from daemon.core.phrases import AS_MESSAGE, PHRASES, USAGE, WORDS, Command, command_of

_HEADER = f"""\
# Phrases and the slash command

What stands here is obeyed without a model, as a whole message to the soul, in any case and with any last mark but for
*why?*; commas, emoji and courtesy (*ok*, *please*, *thanks*) don't matter. `#` stands for a number, in *forget #* and
*cancel reminders #* also for several. While a reply is being made, a message of at most four words that begins with
*stop* stops it. What is about you alone is answered to you alone: in your direct messages.

In Slack each soul has a slash command of its name, as `{command_of("minoan")}`:

```text
{command_of("minoan")} {USAGE}
```

Without a word it is *help*. It works in every channel, also where the soul is not, and shows its answer to you alone.
Any phrase may stand behind it, but for those that need a message or a thread of their own: they change nothing there.
In a direct message a word of the command is enough by itself; in a thread, where people talk to each other, a `!`
stands before it, as before any phrase: `!help`, `!forget 3`.

A guest, a person whom the admin has not listed, and a member of another organisation get one sentence.

Generated from the table by `python -m daemon.cli.reference.phrases docs/PHRASES.md`.
"""
_MORE = {
    Command.REMEMBER: ("remember that …", "merk dir, dass …"),
    Command.WORKS_ON: ("what is NAME working on", "woran arbeitet NAME"),
    Command.HAND_OVER: ("hand this thread to NAME", "übergib diesen Thread an NAME"),
    Command.ASK: ("ask SESSION: …", "frage SESSION: …"),
    Command.HAND: ("hand SESSION: …", "gib SESSION: …"),
    Command.BIND: ("bind SESSION here", "binde SESSION hier"),
    Command.BIND_FOR_ALL: ("bind SESSION here for everybody", "binde SESSION hier für alle"),
    Command.PAIR: ("pair CODE", "kopple CODE"),
}
"""Phrases that hold a name, a code or words, so that no list of words makes them."""


_WORDLESS = (Command.HOME, Command.INTRODUCE, Command.CHANNEL_SET)


def phrase_reference() -> str:
    """The text of the document."""
    return "\n".join(
        (_HEADER, "| what | words | alone, or behind `!` | as a command |", "|---|---|---|---|", *_rows(), "")
    )


def _rows() -> Iterator[str]:
    for command in (one for one in Command if one not in _WORDLESS):
        phrases = ", ".join(f"*{one}*" for one in (*PHRASES[command], *_MORE.get(command, ())))
        words = ", ".join(f"`{word}`" for word, meant in WORDS.items() if meant is command)
        yield f"| {command.value} | {phrases} | {words} | {'no' if command in AS_MESSAGE else 'yes'} |"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(phrase_reference(), encoding="utf-8")
