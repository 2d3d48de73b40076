"""What the daemon says about reminders, digests and times: a part of the table of sentences."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

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
