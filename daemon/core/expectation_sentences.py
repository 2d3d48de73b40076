"""What the daemon says about what a soul expects."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

ABOUT_EXPECTATIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "expected_yes": "Noted: {id} came true.",
        "expected_no": "Noted: {id} did not come true.",
        "expected_none": "There is no {id} among what I expect here.",
        "expected_over": "{id} is decided already; that stays as it is.",
        "expected_by_rule": "{id} is decided by what happens, and not by words.",
    }
)
"""A part of `SENTENCES`."""
