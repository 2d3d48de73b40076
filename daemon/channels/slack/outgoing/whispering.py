"""Shows words to one user alone (Slack: ephemeral messages)."""

from daemon.channels.slack.api.client import SlackClient
from daemon.core.errors import ChannelError, DeliveryUncertain


async def whisper_in(client: SlackClient, channel: str, person: str, text: str, thread: str) -> bool:
    """See `Channel.whisper`."""
    try:
        await client.call("chat.postEphemeral", channel=channel, user=person, text=text, thread_ts=thread or None)
    except DeliveryUncertain:
        return True
    except ChannelError:
        return False
    return True
