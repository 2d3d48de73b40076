"""What is done with memories while nobody speaks: one module a part, each named by a present-tense sentence."""

from types import MappingProxyType
from typing import Final

from daemon.processes.consolidation.distils import distils
from daemon.processes.consolidation.merges_facts import merges_facts
from daemon.processes.consolidation.night import Parts

PARTS: Final[Parts] = MappingProxyType({"merges_facts": merges_facts, "distils": distils})
"""In the order in which they are done."""
