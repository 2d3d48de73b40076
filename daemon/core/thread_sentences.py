"""What the daemon says about threads that are bound to a session: a part of the table of sentences."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

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
