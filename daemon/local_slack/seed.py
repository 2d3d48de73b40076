"""The initial workspace: a team, the app, four users, three channels, and a DM between the app and each user."""

from daemon.local_slack.model import AppIdentity, ChannelKind, Standing, Team, WorkspaceChannel, WorkspaceUser
from daemon.local_slack.state import WorkspaceState

TEAM = Team(id="T0LOCAL", name="Local workspace", domain="local")
FOREIGN_TEAM = "T0ELSEWHERE"


def seeded(app: AppIdentity, bot_name: str, now: float) -> WorkspaceState:
    """A fresh state.

    Ada, Ben and Chloe are members, Gus is a guest in no channel yet; #general, #random, and the private #founders.
    """
    state = WorkspaceState(TEAM, app)
    bot = WorkspaceUser(
        app.user, bot_name.lower(), bot_name, bot_name, Standing.BOT, TEAM.id, bot_id=app.bot_id, app_id=app.app_id
    )
    people = [
        bot,
        WorkspaceUser("U0ADA", "ada", "Ada", "Ada Byron", Standing.MEMBER, TEAM.id),
        WorkspaceUser("U0BEN", "ben", "Ben", "Ben Okri", Standing.MEMBER, TEAM.id),
        WorkspaceUser("U0CHLOE", "chloe", "Chloe", "Chloe Laurent", Standing.MEMBER, TEAM.id),
        WorkspaceUser("U0GUS", "gus", "Gus", "Gus Novak", Standing.GUEST, TEAM.id),
    ]
    state.people.update((person.id, person) for person in people)
    members = tuple(person.id for person in people if person.standing is Standing.MEMBER)
    rooms = [
        WorkspaceChannel("C0GENERAL", "general", ChannelKind.PUBLIC, (*members, app.user), int(now)),
        WorkspaceChannel("C0RANDOM", "random", ChannelKind.PUBLIC, members, int(now)),
        WorkspaceChannel("C0FOUNDERS", "founders", ChannelKind.PRIVATE, ("U0ADA", "U0BEN", app.user), int(now)),
    ]
    rooms += [
        WorkspaceChannel(f"D{person.id[1:]}", "", ChannelKind.DM, (person.id, app.user), int(now))
        for person in people
        if person is not bot
    ]
    state.channels.update((room.id, room) for room in rooms)
    return state
