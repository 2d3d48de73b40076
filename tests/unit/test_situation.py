"""What a person's words tell of where they are, by whole phrases alone."""

from daemon.mind.situation import Location, asks_for_all_code, situation_of


def test_place_haste_stakes_and_code_in_full_are_known_where_somebody_says_so() -> None:
    for words, place in (
        ("I'm on my phone, how do I grep?", Location.MOBILE),
        ("I’m on mobile", Location.MOBILE),  # noqa: RUF001 - as phones write it
        ("typing this from my phone", Location.MOBILE),
        ("How do I grep? On my phone right now.", Location.MOBILE),
        ("Ich bin gerade am Handy", Location.MOBILE),
        ("I was on my phone. I'm at my desk now", Location.LOCAL),
        ("I'm no longer on my phone", Location.LOCAL),
        ("I'm on the production server", Location.CLOUD),
        ("my phone is broken", ""),
        ("I was on the phone with Ben", ""),
        ("I am not on my way", ""),
        ("I wasn't on my phone", ""),
        ("if I'm on my phone, what then?", ""),
        ("> I'm on my phone\nsaid Ben", ""),
        ("grep `I'm on my phone` notes.txt", ""),
    ):
        assert situation_of(words).location_context == place
    assert situation_of("It's urgent, production is down").time_pressure == "high"
    assert situation_of("It's urgent, production is down").stakes_level == "high"
    assert situation_of("It's not urgent").time_pressure == "low"
    assert situation_of("How do I grep?") == situation_of("")
    for words, asked in (
        ("show me the rest", True),
        ("the rest, please", True),
        ("Give me the whole script", True),
        ("Zeig mir den Rest", True),
        ("show me how to grep", False),
        ("the rest of the meeting was fun", False),
        ("he wrote `show me the rest`", False),
    ):
        assert asks_for_all_code(words) is asked
