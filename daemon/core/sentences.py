"""The table of all English sentences that the daemon says to people. `[words]` in soul.toml replaces them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from string import Formatter
from types import MappingProxyType
from typing import Final

from daemon.core import pairing
from daemon.core.help_sentences import (
    ABOUT_BOUND_THREADS,
    ABOUT_CLOCKS,
    ABOUT_EXPECTATIONS,
    ABOUT_HELP,
    ABOUT_OWN_MEMORY,
    ABOUT_ROOMS,
    ABOUT_WHAT_IS_UNREAD,
)

ABOUT_ANSWERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "untitled": "What you showed me",
        "stop_begun": "Stopped.",
        "stop_before": "Stopped before I had said anything.",
        "stop_spent": "So far it took {tokens} tokens.",
        "stop_spent_usd": "So far it took {tokens} tokens, about ${usd}.",
        "stop_rest": "Stopped: I leave out the rest of my answer.",
        "lapsed": "No longer asked: it was stopped.",
        "stop_one": "I have stopped what I was doing for you.",
        "stop_several": "I have stopped {count} things that I was doing for you.",
        "stop_nothing": "I am doing nothing here that could be stopped.",
        "feedback_thanks": "Thank you, that helps me.",
        "feedback_sorry": "Thank you for telling me. If you like, write in the thread what was wrong.",
        "feedback_title": "What was wrong?",
        "feedback_ask": "What was wrong with this answer?",
        "feedback_hint": "I keep your words with this answer; my admins can read them.",
        "feedback_send": "Send",
        "feedback_close": "Not now",
        "because_judged": "(People on answers that had this: good {good}, bad {bad}.)",
        "feedback_kept": "Thank you, I have noted what was wrong.",
    }
)
"""A part of `SENTENCES`."""


ABOUT_LIMITS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "crowded": "You have very many questions waiting with me already, so I leave this one aside for now. Please "
        "ask it again when I have answered the others.",
        "cap_met": "I'm sorry: {what}. I can think again from {when}. I keep what is written here until then, but "
        "don't answer it by myself: write to me after that, and I read it all.",
        "cap_of_soul": "what I may spend on thinking today is used up",
        "cap_of_person": "what I may spend on your questions today is used up",
        "cap_of_room": "what I may spend on thinking in this room today is used up",
        "cap_of_nothing": "I'm sorry: my admin has not allowed me to spend anything on thinking here, so I can't "
        "answer. I keep what is written here.",
    }
)


SENTENCES: Final[Mapping[str, str]] = MappingProxyType(
    {
        # -- while the soul works -----------------------------------------------------------------------------------
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
        "doing_research_for": "Looking up “{query}”",
        "looked_in": "{query} (in {places})",
        "earlier_talk": "earlier talk",
        "doing_read": "Opening what was found",
        "doing_read_from": "Reading {source}",
        "doing_read_page": "Reading {source}, page {page}",
        "doing_read_passage": "passage {number}",
        "done_look_up": "Looked up what I know: {count}",
        "done_follow": "Read linked messages: {count}",
        "doing_ask": "Asking back",
        "doing_remember": "Noting a conclusion",
        "doing_remind": "Making a note for later",
        "doing_respond": "Writing the answer",
        "doing_escalate": "Looking for who can help",
        **ABOUT_ANSWERS,
        **ABOUT_EXPECTATIONS,
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
        # -- suggested prompts --------------------------------------------------------------------------------------
        "prompt_hello_title": "Say hello",
        "prompt_hello": "Hello! Who are you?",
        "prompt_problem_title": "Think something through",
        "prompt_problem": "Help me think a problem through.",
        "prompt_memory_title": "What do you remember?",
        "prompt_memory": "What do you remember about me?",
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
        # -- sources ----------------------------------------------------------------------------------------------
        "source_page": "page {which}",
        "source_slide": "slide {which}",
        "source_row": "row {which}",
        "source_rows": "rows {which}",
        "source_paragraph": "paragraph {which}",
        "source_paragraphs": "paragraphs {which}",
        "source_section": "section {which}",
        "source_sheet": "sheet {which}",
        "source_here": "this conversation",
        "source_elsewhere": "conversation",
        # -- below a reply ----------------------------------------------------------------------------------------
        "out_of_room": "(I ran out of room; say *go on*.)",
        "repeated_itself": "(I began to repeat myself, so I stop here.)",
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
        **ABOUT_LIMITS,
        # -- what is known of a person, and what they decide of it ------------------------------------------------
        **ABOUT_OWN_MEMORY,
        "words_read": "So that you know it: an admin has looked at words of yours that I keep ({when}, UTC).",
        **ABOUT_HELP,
        # -- who is working on what ---------------------------------------------------------------------------------
        "work_head": "This is who is working on what, as the sessions of Claude Code say:",
        "work_on": "{who} (`{session}`), branch `{branch}`: {state}",
        "work_without": "{who} (`{session}`): {state}",
        "work_topic": "{line}, on “{topic}”",
        "work_working": "working",
        "work_idle": "idle",
        "work_waits": "waiting for an answer",
        "work_admin": "the admin",
        "work_more": "… and more: {count}.",
        "work_none": "I know of no session of Claude Code that runs now and may be shown.",
        "work_none_of": "I know of no session of {name} that runs now and may be shown.",
        "work_not_here": "I show who is working on what only where no one but full members of the workspace reads.",
        # -- a thread that goes to another soul ---------------------------------------------------------------------
        "handed_on": "From now on {name} answers here; what was said is passed on.",
        "handed_here": "From now on I answer here in place of {name}, and know what was said.",
        "handoff_mine": "It is I who answer here already.",
        "handoff_unknown": "No soul named {name} is here now, so I go on answering. Say *hand this thread to* with one "
        "of these: {souls}.",
        "handoff_several": "Several souls here are called {name}: {souls}. Say *hand this thread to* with a name that "
        "only one of them bears.",
        "handoff_alone": "No soul named {name} is here now, nor any other, so I go on answering. My admin can have "
        "more souls here by SOUL_SOULS.",
        "handoff_no_dm": "{name} answers through another app, which can't write in these direct messages, so I go on "
        "answering. Write to that app itself.",
        "handoff_not_in": "{name} answers through another app, which is not in this channel, so I go on answering. "
        "Invite that app here, then say it again.",
        "handoff_not_here": "Here you choose yourself who answers. I hand over threads in Slack alone.",
        # -- asking a session ---------------------------------------------------------------------------------------
        "ask_unknown": "I know of no session `{session}` that could be asked.",
        "ask_nearest": "Did you mean {sessions}?",
        "ask_in_slack": "Only people put something to a session, and they do it in Slack.",
        "ask_unowned": "No person stands behind `{session}` who could allow it.",
        "ask_words": "Write what it has to read in plain text, {most} characters at most.",
        "ask_full": "`{session}` can be asked no more for now: {waiting} open questions and {hourly} an hour are the "
        "most. Ask again later.",
        "ask_unclear": "I could not make out what is to go to which session. Write *ask NAME: …* for a question, or "
        "*hand NAME: …* for a task.",
        "ask_own_words": "A session gets only what you have written yourself. If this is what you mean, write it to me "
        "so:",
        "ask_put": "`{session}` reads it as soon as it is free. Its answer comes here.",
        "ask_asked": "I ask {owner} in a direct message whether `{session}` may have that. Either way I say so here.",
        "ask_unreachable": "I can't write to {owner} now, who would have to allow it for `{session}`. Try again in a "
        "while.",
        "ask_may_question": "May I put a question to your session `{session}`? {name} (`{person}`) asks it {where}:",
        "ask_may_task": "May I hand a task to your session `{session}`? {name} (`{person}`) gives it {where}:",
        "ask_in_dm": "in a direct message",
        "ask_read": "The session reads just these words. {name} alone reads its answer.",
        "ask_read_there": "The session reads just these words. All who are there read its answer.",
        "ask_unwatched": "Note that `{session}` asks no permission for what it does (bypassPermissions).",
        "ask_allowed": "It is allowed: `{session}` reads it as soon as it is free. Its answer comes here.",
        "ask_refused": "It was not allowed: `{session}` gets nothing of it.",
        "ask_expired": "It was not allowed in time: `{session}` gets nothing of it. Ask again if it still matters.",
        "ask_late": "`{session}` has not answered yet. If it does within a day, its answer comes here.",
        "ask_gone": "`{session}` is gone and has not answered. If it comes back within a day, its answer comes here.",
        "ask_over": "`{session}` has not answered within a day; the question is over.",
        "ask_answer": "{owner}'s session `{session}`:",
        "ask_others_read": "There is news of a session that was asked here, but others read here by now, so I don't "
        "show it.",
        "ask_a_session": "the session",
        "ask_taken_back": "What was asked here was taken back or changed by who asked it. Nothing of it goes to your "
        "session.",
        "ask_edited": "You have changed the message that a session was to read, so it gets nothing of it. Ask again if "
        "it still matters.",
        **ABOUT_BOUND_THREADS,
        # -- why something was said -------------------------------------------------------------------------------
        "because_head": "Where it comes from, sentence by sentence:",
        "because_fact": "I had noted: {what}",
        "because_sense": "I found in a file: {what}",
        "because_document": "I read it in `{what}`",
        "because_source": "I looked it up in `{what}`",
        "because_talk": "I remember of a talk: {what}",
        "because_said": "“{quote}” ({name}, {day})",
        "because_then": "({name}, {day})",
        "because_anyone": "someone",
        "because_link": "message",
        "because_nothing": "Nothing that I remember; it came from the talk itself or from what I know in general.",
        "because_hidden": "It rests on something that I may not show here.",
        "because_unproved": "(I can show no words here that prove it.)",
        "because_forgotten": "It rested on something that is forgotten since, or holds no more.",
        "because_gone": "Of what I had in mind then, this much is gone since, forgotten or corrected: {count}.",
        "because_no_reply": "I have said nothing here that I could give reasons for.",
        "because_not_mine": "That is no answer of mine, so I can't say why it was written.",
        "because_shortcut": "Why did you say that?",
        "because_shortcut_shows": "Shows what the soul remembers that bears what it said there.",
        "because_in_private": "There is more that you alone may see; I have sent it to you in a direct message.",
        # -- apologies --------------------------------------------------------------------------------------------
        "apology": "I'm sorry: {what}. {advice} (Reference {reference})",
        "what_setup": "something in my set-up is wrong",
        "what_refused": "the model that I think with refused this",
        "what_unreachable": "the model that I think with can't be reached just now",
        "what_too_long": "what I wanted to say is longer than I can write at once",
        "what_only_thought": "the model that I think with used up all its room on thinking, before it said a word",
        "what_form": "my answer came out in a form that I can't send",
        "what_unclear": "I can't think clearly just now",
        "what_broken": "something inside me broke while I was thinking",
        "what_too_slow": "I took too long to think about this",
        "what_stumbled": "I stumbled over this message several times",
        "what_changing": "what was written here changed each time I thought about it",
        "what_too_much": "more was asked of me at once than I could answer in time",
        "advice_later": "Please try again in a while.",
        "advice_log": "My admin finds the reason in my log.",
        "advice_put_differently": "Put it differently, or tell my admin if it goes on.",
        "advice_ask_less": "Ask for less at a time, or part by part.",
        "advice_think_less": "Asking for less won't help; tell my admin, who can choose a model that thinks less.",
        "advice_say_again": "Say it again, or tell my admin if it goes on.",
        "advice_write_anew": "Please write to me anew once it stays as it is.",
        "due": "This had fallen due:",
        "gone": "(The message I was answering is gone.)",
        # -- where something was said or asked -------------------------------------------------------------------
        "place_public": "in a channel",
        "place_private": "in a private channel",
        "place_elsewhere": "in another conversation",
        **ABOUT_WHAT_IS_UNREAD,
        **ABOUT_ROOMS,
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
        **pairing.SENTENCES,
        **ABOUT_CLOCKS,
        "note_as_set": "You have changed the message in which you asked me for a reminder. It stays as it was set "
        "then; *my reminders* shows it and how to move it.",
        "note_reworded": "You have changed the message in which you asked me for a reminder, so I have dropped it. Ask "
        "me again if you still want one.",
    }
)

OUTCOMES: Final = ("allowed", "refused", "expired", "lapsed", "invite_refused")
"""The sentences below a decided request for permission."""

LONGEST: Final = 400
"""Characters of a sentence in a soul's own words, at most."""

LABELS: Final = frozenset(
    {"approve", "approve_label", "refuse", "refuse_label", "good", "good_label", "bad", "bad_label"}
    | {"feedback_title", "feedback_ask", "feedback_send", "feedback_close"}
    | {"thinking", "cards_begun", "because_shortcut", "ask_about_shortcut", "ask_about_title", "ask_about_send"}
    | {"invite_yes", "invite_yes_label", "invite_no", "invite_no_label"}
    | {*pairing.CHOICES, *(f"{act}_label" for act in pairing.CHOICES)}
    | {"step_title", "step_question", "step_answer"}
    | {"home_correct", "home_correct_ask", "home_correct_send", "home_forget", "home_pause", "home_resume"}
    | {"home_before", "home_more", "home_cancel", "home_end_key", "home_set_up"}
    | {key for key in SENTENCES if key.startswith("prompt_") and key.endswith("_title")}
    | {key for key in SENTENCES if key.startswith("doing_") and "{" not in SENTENCES[key]}
)
"""The sentences on a button, a card, a suggestion or the status line, where Slack limits the length."""

LONGEST_LABEL: Final = 60
"""Characters of one of LABELS, at most."""


class Sentence(str):
    """An English sentence of the table that remembers its key and facts, for saying it in other words."""

    __slots__ = ("facts", "key")

    def __new__(cls, key: str, **facts: object) -> "Sentence":
        """Make the sentence of a key. Raises KeyError for an unknown key or a missing fact."""
        made = super().__new__(cls, SENTENCES[key].format(**facts))
        made.key, made.facts = key, facts
        return made

    key: str
    facts: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one soul in one language. `own` holds those that differ from the table."""

    own: Mapping[str, str] = field(default_factory=dict)

    def say(self, key: str, **facts: object) -> str:
        """Return the sentence of a key. Raises KeyError for an unknown key or a missing fact."""
        return self.own.get(key, SENTENCES[key]).format(**facts)

    def tell(self, sentence: str) -> str:
        """Return a Sentence in these words, and any other text unchanged."""
        return self.say(sentence.key, **sentence.facts) if isinstance(sentence, Sentence) else sentence

    def reworded(self, said: str) -> str:
        """Return a note stored in English in these words, and any other text unchanged."""
        for key, pattern in _WITH_FACTS.items():
            if (read := pattern.fullmatch(said)) is not None:
                return self.say(key, **read.groupdict())
        return self.say(_KEYS[said]) if said in _KEYS else said

    def with_outcome(self, said: str) -> str:
        """Return a stored request for permission with its outcome, the last line, in these words."""
        for key in OUTCOMES:
            if (asked := said.removesuffix(f"\n\n_{SENTENCES[key]}_")) != said:
                return f"{asked}\n\n_{self.say(key)}_"
        return said


HOUSE_WORDS: Final = Words()
"""The table without words of a soul's own."""

_FACTS: Final = {"when": "(?P<when>[-0-9: ]+)", "name": r"(?P<name>[^\n]+)"}
_WITH_FACTS: Final = {
    key: re.compile(re.sub(r"\\\{(\w+)\\\}", lambda fact: _FACTS[fact[1]], re.escape(SENTENCES[key])))
    for key in ("words_read", "handed_on", "handed_here")
}
"""The notes that hold a fact: the time of an admin's look, or the name of a soul."""

_KEYS: Final[Mapping[str, str]] = MappingProxyType({said: key for key, said in SENTENCES.items()})


def placeholders_in(text: str) -> tuple[str, ...]:
    """Return the names in braces, in order. Raises ValueError for braces that are no plain placeholder."""
    wrong = "holds braces that are no placeholder; write {{ and }} for braces themselves"
    try:
        parts = [part for part in Formatter().parse(text) if part[1] is not None]
    except ValueError as error:
        raise ValueError(wrong) from error
    if any(not str(name).isidentifier() or form or conversion for _, name, form, conversion in parts):
        raise ValueError(wrong)
    return tuple(dict.fromkeys(str(name) for _, name, _, _ in parts))
