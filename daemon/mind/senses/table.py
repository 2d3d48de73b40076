"""All senses, in the order in which a thought is given what they perceived."""

from typing import Final

from daemon.mind.senses.acts import Acts
from daemon.mind.senses.language import Language
from daemon.mind.senses.reports import Reports
from daemon.mind.senses.sense import Sensing
from daemon.mind.senses.time import Time

SENSES: Final[tuple[Sensing, ...]] = (Language(), Reports(), Acts(), Time())
"""Words first: they are addressed to the soul."""
