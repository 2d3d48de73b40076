"""The sentences with which the daemon speaks of itself: help, state, reminders, own memory, rooms, unread files."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

ABOUT_HELP: Final[Mapping[str, str]] = MappingProxyType(
    {
        "prompt_reminder_title": "Next reminder: {when}",
        "prompt_reminder": "my reminders",
        "help_head": "This is what I can do for you here and now:",
        "help_unknown": "“{words}” is nothing that I know as a command.",
        "help_talk": "Talk and think with you, in your own language.",
        "help_remember": "Remember what we talk about, and look it up when it bears on what you ask.",
        "help_paused": "Not remember: you have paused it. *resume remembering* goes on.",
        "help_files": "Open the files that you send me.",
        "help_library": "Look things up in {folders}, and say where it stands.",
        "help_tools": "Look things up with {tools}.",
        "help_allowed": "Use {tools}, which change something, after a click of who may allow it.",
        "help_problems": "Work on a problem in several steps, and show them.",
        "help_contacts": "Hand a question on to {names}, once you have allowed it.",
        "help_reminders": "Remind you, once or again and again, when you ask me to; *my reminders* lists them.",
        "help_own": "Show, correct and forget what I know about you: *what do you know about me*, *pause remembering*, "
        "*forget me*; *why* says where my last answer comes from.",
        "help_unasked": "Write to you by myself, if you invite me to: *follow up on*, *follow up off*, *follow up "
        "status*.",
        "help_sessions": "Say who is working on what in Claude Code: *who is working on what?*",
        "help_souls": "Hand a thread to another soul: *hand this thread to NAME*, with one of these: {souls}.",
        "help_command": "`{command}` works everywhere and shows its answer to you alone: `{usage}`. In a direct "
        "message the same words are enough; in a thread put a `!` before them.",
        "help_words": "In a direct message `{usage}` are enough as words of their own; in a thread put a `!` before.",
        "help_outsiders": "Not everybody here is a full member, so I use no tools and only what all may read.",
        "help_more": "… and {count} more",
        "command_shows": "Help, what I know of you, your reminders, and how I am",
        "command_refused": "I'm sorry, I may not answer you here.",
        "command_unknown": "No soul with this command answers here now.",
        "command_later": "I can't look that up just now. Please try again in a moment.",
        "command_as_message": "That needs a message: write it to me as it is, in a direct message or in the thread "
        "that it is about.",
        "home_can": "What I can do for you",
        "home_known": "What I know about you",
        "home_reminders": "Your reminders",
        "home_allowed": "What you allowed",
        "home_well": "How I am",
        "home_privacy": "What I keep, and who may read it",
        "home_house": "For admins",
        "home_correct": "Correct",
        "home_correct_ask": "What is right?",
        "home_correct_send": "Correct",
        "home_forget": "Forget",
        "home_forget_asks": "Shall I forget this? It can't be undone.",
        "home_pause": "Pause remembering",
        "home_resume": "Resume remembering",
        "home_before": "Back",
        "home_more": "More",
        "home_cancel": "Cancel",
        "home_key": "A session of Claude Code on `{machine}` has a key of yours.",
        "home_end_key": "End this key",
        "home_end_key_asks": "Shall I end this key? The session can't reach me with it any more.",
        "home_allowed_once": "`{tool}`, once, on {day}",
        "home_allowed_nothing": "Nothing so far.",
        "home_rooms": "Channels that you can set up",
        "home_set_up": "Set up",
        "home_more_rooms": "And {count} more: `{command} channel` in one of them opens its form.",
        "home_notice": "I keep our messages word for word, and notes on what you tell me, on the machine that I run "
        "on. What you say in private I use before you alone. *export my memory* gives you a copy, *forget me* erases "
        "it all. Only you see this page.",
        "home_connected": "Connected; daemons alive: {daemons}.",
        "home_unconnected": "Not connected just now; daemons alive: {daemons}.",
        "home_queue": "Waiting for an answer: {waiting}; to be sent: {to_send}.",
        "home_spent": "In the last 24 hours: ${usd} in {calls} model calls, {failed} of them failed.",
        "home_left": "Today ${left} of ${cap} are left to me.",
        "home_cap_person": "For each person I may spend ${cap} a day.",
        "home_cap_room": "In each room I may spend ${cap} a day.",
        "home_by_model": "By model, in the last 24 hours: {models}.",
        "home_days": "The last {days} days, today at the end:",
        "home_days_heard": "`{bars}` messages; today {today}, at most {most}",
        "home_days_answered": "`{bars}` answers; today {today}, at most {most}",
        "home_days_wait": "`{bars}` seconds until an answer stands, on average; today {today}, at most {most}",
        "home_days_cost": "`{bars}` US dollars; today {today}, at most {most}",
        "home_dead": "{dead} rows were given up; `soul status` says which.",
        "home_no_alarm": "Nothing needs you.",
        "ask_about_shortcut": "Ask about this",
        "ask_about_shortcut_shows": "Asks the soul about this message; answered to you alone, or in its thread.",
        "ask_about_title": "Ask about this",
        "ask_about_send": "Ask",
        "ask_about_ask": "What do you want to know about this message?",
        "ask_about_where": "Where shall I answer?",
        "ask_about_private": "To me alone, in a direct message",
        "ask_about_thread": "In the thread of the message, for all who are there",
        "status_head": "I am here and answer. My mood: {mood}.",
        "status_remembers": "I remember what we talk about; *pause remembering* stops it.",
        "status_paused": "Remembering is paused; *resume remembering* goes on.",
        "status_waiting": "Your messages that wait for an answer: {waiting}; your reminders: {reminders}.",
    }
)


ABOUT_CLOCKS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "weekday_names": "Mon Tue Wed Thu Fri Sat Sun",
        "rule_hours": "every {hours} h",
        "rule_daily": "daily at {time}",
        "rule_weekly": "{days} at {time}",
        "rule_monthly": "on day {day} of each month at {time}",
        "rule_yearly": "each year on {day} at {time}",
        "reminders_head": "Your reminders:",
        "reminders_none": "You have no reminders with me.",
        "reminders_how": "*cancel reminder {number}* ends that one, *move reminder {number} to 9:30* changes its time.",
        "reminders_line": "{number}. {when}: {what}",
        "reminders_repeats": "{when}, {rule}",
        "reminders_until": "{line}, until {until}",
        "reminders_times": "{line}, times left: {count}",
        "reminders_in": "{line} (in {room})",
        "reminders_digest": "a digest",
        "reminders_paused": "{line}: paused, *resume reminder {number}* goes on with it",
        "reminders_waits": "{when}, if no one else writes there by then",
        "reminder_set": "{when}: {what}. `my reminders` lists yours.",
        "reminder_not_set": "No reminder is set.",
        "reminder_needs_time": "I have set no reminder. I can remind you at a time, such as tomorrow at nine, and in a "
        "thread only if no one answers by then; I can't wait for a topic or a person.",
        "reminder_no_zone": "I know of no time zone {zone}, so no reminder is set. Name another one, such as "
        "Europe/Berlin, or a time on your own clock ({own}).",
        "reminder_no_number": "You have no reminder {number}; *my reminders* lists yours.",
        "reminder_cancelled": "Reminder {number} is cancelled.",
        "reminder_moved": "Reminder {number} is due {when}.",
        "reminder_when": "I can't make out that time. Write *move reminder {number} to 9:30*, to 2026-03-01T09:30, or "
        "to in 2h.",
        "reminder_time_alone": "Reminder {number} repeats, so give a time of day alone: *move reminder {number} to "
        "9:30*.",
        "reminder_resumed": "Reminder {number} goes on: it is due {when}.",
        "reminder_still_lost": "Reminder {number} stays paused: you and I both have to be in {room}, and it must not "
        "be archived.",
        "reminder_lost": "I could not bring up your reminder {number} in {room}, since I am not in that channel any "
        "more. It is paused: invite me and write *resume reminder {number}*.",
        "reminder_archived": "I could not bring up your reminder {number} in {room}, since that channel is archived. "
        "It is paused; *resume reminder {number}* goes on with it.",
        "reminder_left": "I no longer bring up your reminder {number} in {room}, since you are not in that channel "
        "any more. It is paused; *resume reminder {number}* goes on with it once you are.",
        "digest_withdrawn": "Your digest, reminder {number} in {room}, is cancelled, since the message that asked for "
        "it was deleted. Ask me again there if you still want it.",
        "digest_head": "What was said here since {since}:",
        "a_channel": "a channel",
    }
)


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


ABOUT_OWN_MEMORY: Final[Mapping[str, str]] = MappingProxyType(
    {
        "own_notice": "I remember what we talk about. `what do you know about me` shows it, `pause remembering` "
        "stops it.",
        "own_way": "Write me a direct message with `what do you know about me`: there you see, correct and erase it.",
        "own_in_private": "I have answered you in a direct message.",
        "own_known": "This is what I know about you:",
        "own_nothing": "I have noted nothing about you.",
        "own_role": "What you do",
        "own_work": "What you work on",
        "own_preference": "What you like",
        "own_answering": "How you like to be answered",
        "own_other": "More about you",
        "own_aside": "What I noted besides",
        "own_beliefs": "What I believe for now, which fades",
        "own_noted": "an old note without your words",
        "own_in_words": "in your own words",
        "own_unread": "Not looked through yet: {messages} of your messages. Ask me again in a minute.",
        "own_besides": "I also keep, word for word, your messages ({messages}), what I saw or read in your files "
        "({files}) and your reminders ({reminders}).",
        "own_summaries": "Of our talks I keep what came of them, too ({number}); *export my memory* shows it.",
        "own_zone": "Your time zone is {zone}.",
        "own_how_line": "About a line, say *why 1*, *wrong 1: what is right* or *forget 1*.",
        "own_how": "About all of it, say *pause remembering*, *export my memory* or *forget me*.",
        "own_why": "{number}. {fact}. I know it from these words of yours:",
        "own_unproved": "None that I could show here: it is an old note, or was said where you don't read along now.",
        "own_believed": "{number}. {belief}. No words of yours say so: I believe it for now, and no longer than {day}.",
        "own_concluded": "{number}. {fact}. No words of yours say so: I noted it myself while we talked, on {day}.",
        "own_belief_wrong": "Forgotten: {fact}. If I should keep what is right, say *remember: …*",
        "own_here": "({day}, here)",
        "own_elsewhere": "({day}, in another conversation)",
        "own_no_number": "There is no {number} in the list that I showed you last. *what do you know about me* "
        "shows it.",
        "own_corrected": "Corrected: {number} now says: {words}",
        "own_wrong_how": "Tell me what is right, like this: *wrong {number}: what is right*",
        "own_wrong_paused": "I note nothing while remembering is paused. *resume remembering* first, or *forget "
        "{number}*.",
        "own_remembered": "Noted: {words}",
        "own_remembered_cut": "Noted, as far as it fits: {words} …",
        "own_remember_paused": "I note nothing while remembering is paused. *resume remembering* first.",
        "own_forgotten_fact": "Forgotten: {fact}",
        "own_forgotten_that": "Forgotten: your last message here, my answer to it, and what I had made of it. Slack's "
        "own copy stays until you delete it there.",
        "own_which": "What do you mean by *that*? Nothing is forgotten yet; *what do you know about me* shows more.",
        "own_which_fact": "- *forget {number}*: {fact}",
        "own_which_message": "- *forget my last message*: {words}",
        "own_paused": "Paused: I note nothing of you and look nothing up. What we say now is erased when this talk "
        "ends. *resume remembering* goes on.",
        "own_resumed": "I remember again what we talk about from now on.",
        "own_export": "Here is all that I keep of you, as a file.",
        "own_forget_me": "Do you want me to forget everything of you: your messages to me and my answers, what I "
        "know of you, your reminders? It can't be undone. Say *yes, forget me* within an hour. *export my memory* "
        "gives you a copy first.",
        "own_not_forgotten": "Nothing is forgotten.",
        "own_forgotten": "Forgotten: everything that I kept of you. What stays: Slack's own copy of our messages until "
        "it is deleted there, and backups of my memory until they are replaced, which forget you too when they are "
        "used.",
    }
)


ABOUT_ROOMS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "introduction": "Hello, I am {name}; here I can {can}. Mention me to ask me something, and go on in its thread "
        "without that; I answer nothing else here, and {help} lists all that I can do.",
        "introduction_list": "{first} and {last}",
        "room_title": "This channel",
        "room_send": "Save",
        "room_instructions": "What shall I keep in mind in this channel?",
        "room_instructions_hint": "All in the channel read it, and who set it. Leave everything empty to clear it.",
        "room_soul": "Who answers in new threads here?",
        "room_soul_usual": "As usual",
        "room_streams": "Show answers while they grow?",
        "room_usual": "As everywhere",
        "room_streams_on": "Yes, for who asked",
        "room_streams_off": "No, only when they are whole",
        "room_joins": "When shall I answer here?",
        "room_joins_threads": "When mentioned, and in threads that I am in",
        "room_joins_mention": "Only when mentioned",
        "room_not_yours": "Only who made this channel, admins of the workspace and my own admins can set how I work "
        "here, if they and I are in it.",
        "room_set": "{name} has set how I work in this channel:",
        "room_set_instructions": "I keep this in mind, below my own rules:",
        "room_set_soul": "{soul} answers in new threads.",
        "room_set_on": "Who asked sees my answers while they grow.",
        "room_set_off": "My answers come when they are whole.",
        "room_set_mention": "I answer only when I am mentioned.",
        "room_cleared": "{name} has cleared what was set for me in this channel; I work here as everywhere.",
        "room_nothing": "Nothing is set for this channel; I work here as everywhere.",
        "room_holds": "This is set for this channel:",
        "room_how": "Who made it and admins can change that: `{command} channel` there opens the form.",
        "room_is_none": "That is about a channel: say it in one.",
        "there_shown": "That reply stands in the channel now, too.",
        "there_where": "What I can show in a channel is a reply in a thread of that channel: ask me in that thread.",
        "there_none": "My last reply in this thread is none that I can show in the channel.",
        "there_not_yours": "My last reply in this thread answers another person: they may ask me for this.",
        "there_refused": "Slack does not show that reply in the channel through me; perhaps it stands there already.",
        "there_later": "I can't show it in the channel just now. Ask me again in a moment.",
        "can_talk": "think with you in your own language",
        "can_remember": "remember what we talk about",
        "can_files": "open your files",
        "can_library": "look things up in {folders}",
        "can_tools": "look things up with {tools}",
        "can_problems": "work on problems in several steps",
        "can_contacts": "hand a question on to {names}",
        "can_reminders": "remind you of things",
        "can_sessions": "say who is working on what in Claude Code",
        "can_souls": "hand a thread to {souls}",
    }
)


ABOUT_BOUND_THREADS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "bound_here": "From now on what {owner} says here goes to `{session}` in my place. *unbind* ends that.",
        "bound_for_all": "From now on what anybody says here goes to `{session}` in my place. *unbind* ends that.",
        "bound_not_yours": "Only the person who runs `{session}` can bind it to a thread.",
        "bound_taken": "This thread is bound to another session. Say *unbind* first.",
        "bound_not": "This thread is bound to no session; I answer here.",
        "bound_ended": "This thread is bound to no session any more, and I answer here again. What it had not read of "
        "what was said here is dropped.",
        "bound_gone": "The session that this thread is bound to is gone. What you say to it here waits for a day, in "
        "case it comes back; after *unbind* I answer.",
        "bound_over": "The session that this thread was bound to did not come back within a day. I answer here again; "
        "what waited for it is dropped.",
        "bound_lost": "The session that this thread was bound to takes nothing from here any more. I answer here "
        "again; what waited for it is dropped.",
        "bound_moved": "The session that this thread was bound to belongs to another thread now. I answer here again; "
        "what waited for it is dropped.",
        "bound_by_admin": "My admin has bound this thread to a session of Claude Code, which may speak here.",
        "bound_by_admin_all": "My admin has bound this thread to a session of Claude Code: what you say here goes "
        "to it in my place. *unbind* ends that.",
        "bound_unwatched": "The session here asks no permission for what it does by now, so it gets nothing of what "
        "you said without its owner's leave. Say it again, and I ask.",
        "bound_may": "May I bind your session `{session}` to a thread {where}? What you say there goes to it then, in "
        "my place, and all who are there read its answers.",
        "bound_may_all": "May I bind your session `{session}` to a thread {where}, for everybody? What anybody says "
        "there goes to it then, in my place, and all who are there read its answers.",
    }
)


ABOUT_WHAT_IS_UNREAD: Final[Mapping[str, str]] = MappingProxyType(
    {
        "file_below": "(It stands below, as `{name}`.)",
        "file_refused": "(I could not read {names}: {why}.)",
        "file_too_large": "it has {size} MB, and {most} MB are the most that I take",
        "file_one_too_many": "I read {most} files of one message",
        "file_elsewhere": "it does not lie with the platform, and I fetch nothing from elsewhere",
        "file_gone": "it is no longer there, or I may not open it",
        "file_late": "it could not be fetched or opened in time",
        "file_strange": "it is no picture, recording, document, table or text that I know",
        "file_misnamed": "it is not what its name says",
        "file_damaged": "it is damaged",
        "file_too_big_inside": "it is too large once it is unpacked",
        "file_protected": "it is protected by a password; send a copy without one",
        "file_no_text": "it holds no text",
        "file_only_pictures": "its pages are pictures without text; send these, or a copy with text (OCR)",
        "file_other_format": "its format is not read; save it as docx, xlsx, pptx or PDF",
        "file_heic": "it is a HEIC picture, and I can't open those; send it as JPEG or PNG",
        "file_unheard": "no way to listen to recordings is set up for me",
        "file_not_heard": "it could not be listened to just now",
        "file_canvas": "it is a canvas, and I can't open those; paste what matters of it",
        "file_list": "it is a list, and I can't open those; paste what matters of it",
        "link_canvas": "it is a canvas, and I can't open those; paste what matters of it",
        "link_list": "it is a list, and I can't open those; paste what matters of it",
        "link_file": "I open files that are sent along, and no links to them",
        "link_huddle": "it is a huddle, and I can't listen to those",
        "link_hidden": "it is not there, or not for everybody who reads this",
        "link_gone": "what stood there is no longer there",
        "link_elsewhere": "it belongs to another workspace",
        "link_not_in": "I am not in that channel; invite me there and ask again",
        "link_late": "Slack did not show it to me just now; ask again in a while",
        "link_one_too_many": "I follow {most} links to messages at a time",
    }
)
