"""What the soul says of messages that came while it was away for too long."""

from typing import Final

ABOUT_AWAY: Final = {
    "away_you": "I was away until {now} (UTC) and did not answer what you wrote before {before}; say it again if "
    "it still matters.",
    "away_here": "I was away until {now} (UTC) and did not answer what was written here before {before}; say it "
    "again if it still matters.",
    "away_ask": "I was away and did not answer what you wrote to me: {rooms}. Messages: {count}. Shall I still answer?",
    "away_yes": "Yes, answer",
    "away_no": "No, not needed",
    "away_lapsed": "You did not say within a day, so I leave it unanswered. Say it again if it still matters.",
    "away_in_dm": "in our direct messages",
    "away_in_room": "in {name}",
    "away_in_private": "in a private conversation",
    "away_in_more": "and elsewhere",
}
"""Sentences of the table, in English."""
