"""What the daemon says about what a soul expects, means to do and promised."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

ABOUT_EXPECTATIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "promised": "I'll come back to “{what}” by {when}; write `not now` if you'd rather not.",
        "promise_kept": "I said that I'd come back to “{what}”. There is nothing new that I could say about it yet.",
        "promise_unseen": "I said that I'd come back to “{what}”. I couldn't look at it by now; ask me again later.",
        "promises_declined": "All right, I won't come back to {what}.",
        "promises_named": "“{what}”",
        "promises_and": "{several} and {last}",
        "follow_up_on": "All right: I'll write to you here by myself when something is due or came otherwise than "
        "expected, twice a day at most and never in quiet hours. `follow up off` ends that.",
        "follow_up_in_dm": "All right: I'll write to you in our direct messages by myself when something is due or "
        "came otherwise than expected, twice a day at most and never in quiet hours. `follow up off` ends that.",
        "follow_up_off": "All right: I won't write to you by myself, but for what I promised.",
        "follow_up_never": "I don't think by myself here, so I never write to anybody unasked.",
        "follow_up_not_here": "I can't write to you by myself here.",
        "follow_up_is_paused": "You invited me to write to you by myself in our direct messages; I pause until {when}. "
        "`follow up off` ends it, `follow up on` ends the pause.",
        "not_now_paused": "All right. By myself I won't write anything of this kind before {when}.",
        "not_now_besides": "By myself I won't write anything of this kind before {when}.",
        "may_i_follow_up": "May I write to you here by myself when something is due or came otherwise than expected? "
        "That is twice a day at most, and never in quiet hours. I ask this once; `follow up on` and `follow up off` "
        "decide it at any time.",
        "invite_yes": "Yes",
        "invite_yes_label": "Yes: you may write to me by yourself",
        "invite_no": "No",
        "invite_no_label": "No: don't write to me by yourself",
        "invite_refused": "Answered: no.",
        "follow_up_is_on": "You invited me to write to you by myself in our direct messages; `follow up off` ends it.",
        "follow_up_is_off": "I don't write to you by myself, but for what I promised; `follow up on` invites me to.",
        "follow_up_is_asked": "I asked you once whether I may write to you by myself. Until you say so I don't, but "
        "for what I promised; `follow up on` invites me to.",
        "follow_up_is_declined": "You don't want me to write to you by myself. I don't, but for what I promised; "
        "`follow up on` invites me to.",
        "home_unasked": "What I write by myself",
        "home_promised": "I promised to come back to “{what}” by {when}. `not now`, written where I promised it, "
        "declines that.",
    }
)
"""A part of `SENTENCES`."""
