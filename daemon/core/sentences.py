"""Every sentence that the daemon itself says to people: one table in English, which a soul may say in its own words.

A soul's folder gives other words by the keys of SENTENCES, for everybody and by language (`[words]` in soul.toml). What
has no words of its own is said in English. Sentences of the HTTP API and of commands are for programs and admins; they
stand where they are used.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from string import Formatter
from types import MappingProxyType
from typing import Final

SENTENCES: Final[Mapping[str, str]] = MappingProxyType(
    {
        # -- while it works ---------------------------------------------------------------------------------------
        "thinking": "is thinking…",
        "working": "is working: {title}…",
        "cards_begun": "Working on it",
        "cards_done_one": "Worked through 1 step",
        "cards_done": "Worked through {steps} steps",
        "cards_failed": "{done}, {failed} of them failed",
        "card_not_needed": "{title} (not needed)",
        "card_set_aside": "{title} (set aside)",
        "doing_think": "Thinking it through",
        "doing_research": "Looking things up",
        "doing_research_for": "Looking up {query}",
        "doing_read": "Opening what was found",
        "doing_read_from": "Reading {source}",
        "doing_read_page": "Reading {source}, page {page}",
        "doing_read_passage": "passage {number}",
        "doing_ask": "Asking back",
        "doing_remind": "Making a note for later",
        "doing_respond": "Writing the answer",
        "doing_escalate": "Looking for who can help",
        # -- buttons ----------------------------------------------------------------------------------------------
        "approve": "Approve",
        "approve_label": "Approve: allow this once",
        "refuse": "Refuse",
        "refuse_label": "Refuse: do nothing",
        "good": "Good answer",
        "good_label": "Mark this answer as good",
        "bad": "Bad answer",
        "bad_label": "Mark this answer as bad",
        "press_void": "I'm sorry, that had no effect: I asked another person, or this has already been decided or has "
        "expired.",
        # -- permission -------------------------------------------------------------------------------------------
        "ask_tool": "To go on I would use `{tool}` with exactly this. May I?",
        "ask_contact": "I would hand this on to {name} in these words, and nothing else. May I?",
        "no_approver": "I'm sorry, I may not use `{tool}`: it can destroy something, and the admin has named no one "
        "who may allow that. Nothing was done.",
        "the_message": "The message to {name}",
        "a_contact": "a contact",
        "act_waiting": "{act}: not decided yet; nothing was done.",
        "act_approved": "{act}: allowed, but not done.",
        "act_refused": "{act}: refused; nothing was done.",
        "act_expired": "{act}: the permission has grown old; nothing was done.",
        "act_used": "{act}: done once, as allowed.",
        "act_failed": "{act}: tried as allowed, but it failed; nothing was done.",
        "act_unknown": "{act}: begun as allowed, but it is not known whether it was done. It will not be tried again.",
        "act_gone": "What was asked for is not known any more; nothing was done.",
        "act_no_room": "{act}: it can't be written there just now; nothing was sent.",
        "act_on_its_way": "{act}: on its way, word for word.",
        "act_not_here": "{act}: not to be used here now; nothing was done.",
        "allowed": "Allowed.",
        "refused": "Refused.",
        "expired": "Expired, nothing was done.",
        # -- below a reply ----------------------------------------------------------------------------------------
        "out_of_room": "(I ran out of room; say *go on*.)",
        "stopped": "(I stopped here: {why}.)",
        "why_tokens": "the limit of {limit} tokens for one task is reached",
        "why_usd": "the budget of {limit} US dollars for one task is used up",
        "why_loops": "the limit of {limit} steps for one task is reached",
        "why_seconds": "the {limit} seconds for one task are over",
        "why_circles": "the work went in circles",
        "why_lost": "the next step could not be chosen",
        "speechless": "I can't think any further just now, but this has to be said.",
        # -- refusals ---------------------------------------------------------------------------------------------
        "only_members": "I'm sorry, I only talk with full members of this workspace, so I can't help you here.",
        "only_listed": "I'm sorry, I may only talk with the people my admin has listed, and you aren't among them yet.",
        "not_in_shared": "I'm sorry, I don't talk in channels shared with other organisations. Please write to me "
        "directly.",
        "crowded": "You have very many questions waiting with me already, so I leave this one aside for now. Please "
        "ask it again when I have answered the others.",
        # -- apologies --------------------------------------------------------------------------------------------
        "apology": "I'm sorry: {what}. {advice} (Reference {reference})",
        "what_setup": "something in my set-up is wrong",
        "what_refused": "the model that I think with refused this",
        "what_unreachable": "the model that I think with can't be reached just now",
        "what_too_long": "what I wanted to say is longer than I can write at once",
        "what_form": "my answer came out in a form that I can't send",
        "what_unclear": "I can't think clearly just now",
        "what_broken": "something inside me broke while I was thinking",
        "what_too_slow": "I took too long to think about this",
        "what_stumbled": "I stumbled over this message several times",
        "what_changing": "your message changed each time I thought about it",
        "what_too_much": "more was asked of me at once than I could answer in time",
        "advice_later": "Please try again in a while.",
        "advice_log": "My admin finds the reason in my log.",
        "advice_put_differently": "Put it differently, or tell my admin if it goes on.",
        "advice_ask_less": "Ask for less at a time, or part by part.",
        "advice_say_again": "Say it again, or tell my admin if it goes on.",
        "advice_write_anew": "Please write it anew once it is as you want it.",
        "due": "This had fallen due:",
        "gone": "(The message I was answering is gone.)",
        # -- what came to nothing ---------------------------------------------------------------------------------
        "away_you": "I was away until {now} (UTC) and did not answer what you wrote before {before}; say it again if "
        "it still matters.",
        "away_here": "I was away until {now} (UTC) and did not answer what was written here before {before}; say it "
        "again if it still matters.",
        "moment_on": "{time} on {date}",
        "note_dead": "I'm sorry: I had something to say here, but it may not have been posted. My admin can find out "
        "why. You may ask me again, perhaps for less at a time.",
        "note_expired": "I'm sorry: I had an answer here, but could not post it in time. Ask me again if it still "
        "matters.",
        "note_in_doubt": "I can't tell yet whether my last reply arrived here. If you don't see it, it may still come, "
        "or ask me again.",
        "note_unknown": "I can't tell whether my last reply arrived here. If you don't see it, ask me again.",
        "note_unread": "I'm sorry: something inside me broke over this message each time I tried. My admin finds the "
        "reason in my log.",
        "note_not_fired": "I'm sorry: something was scheduled here for now, but I could not begin it. My admin finds "
        "the reason in my log.",
    }
)

OUTCOMES: Final = ("allowed", "refused", "expired")
"""Sentences below a question for permission that has been decided."""

LONGEST: Final = 400
"""The most characters of a sentence in a soul's own words."""

LABELS: Final = frozenset(
    {"approve", "approve_label", "refuse", "refuse_label", "good", "good_label", "bad", "bad_label"}
    | {"thinking", "cards_begun"}
    | {key for key in SENTENCES if key.startswith("doing_") and "{" not in SENTENCES[key]}
)
"""Sentences on a button, a card or the status line, where Slack takes few characters."""

LONGEST_LABEL: Final = 60
"""The most characters of one of LABELS."""


class Sentence(str):
    """A sentence of the table in English that remembers its key and facts, so that other words can say it too."""

    __slots__ = ("facts", "key")

    def __new__(cls, key: str, **facts: object) -> "Sentence":
        """The sentence of a key. Raises KeyError for an unknown key or a missing fact."""
        made = super().__new__(cls, SENTENCES[key].format(**facts))
        made.key, made.facts = key, facts
        return made

    key: str
    facts: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one soul in one language; `own` holds those that differ from the table."""

    own: Mapping[str, str] = field(default_factory=dict)

    def say(self, key: str, **facts: object) -> str:
        """The sentence of a key. Raises KeyError for an unknown key or a missing fact."""
        return self.own.get(key, SENTENCES[key]).format(**facts)

    def tell(self, sentence: str) -> str:
        """The same sentence in these words; any other text as it is."""
        return self.say(sentence.key, **sentence.facts) if isinstance(sentence, Sentence) else sentence

    def reworded(self, said: str) -> str:
        """A text of the table without facts, as it is stored in English, in these words; any other text as it is."""
        return self.say(_KEYS[said]) if said in _KEYS else said

    def with_outcome(self, said: str) -> str:
        """A question for permission whose last line is its outcome, as it is stored in English, in these words."""
        for key in OUTCOMES:
            if (asked := said.removesuffix(f"\n\n_{SENTENCES[key]}_")) != said:
                return f"{asked}\n\n_{self.say(key)}_"
        return said


HOUSE_WORDS: Final = Words()
"""The table as it stands."""

_KEYS: Final[Mapping[str, str]] = MappingProxyType({said: key for key, said in SENTENCES.items()})


def placeholders_in(text: str) -> tuple[str, ...]:
    """The names in braces, in their order. Raises ValueError for braces that are no plain placeholder."""
    wrong = "holds braces that are no placeholder; write {{ and }} for braces themselves"
    try:
        parts = [part for part in Formatter().parse(text) if part[1] is not None]
    except ValueError as error:
        raise ValueError(wrong) from error
    if any(not str(name).isidentifier() or form or conversion for _, name, form, conversion in parts):
        raise ValueError(wrong)
    return tuple(dict.fromkeys(str(name) for _, name, _, _ in parts))
