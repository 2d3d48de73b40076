"""What is done with memories while nobody speaks: one module a part, each named by a present-tense sentence."""

from types import MappingProxyType
from typing import Final

from daemon.processes.consolidation.distils import distils
from daemon.processes.consolidation.lets_sink import lets_sink
from daemon.processes.consolidation.merges_facts import merges_facts
from daemon.processes.consolidation.night import Parts
from daemon.processes.consolidation.refreshes_models import refreshes_models
from daemon.processes.consolidation.seeks_quotations import seeks_quotations

PARTS: Final[Parts] = MappingProxyType(
    {
        "merges_facts": merges_facts,
        "seeks_quotations": seeks_quotations,
        "distils": distils,
        "refreshes_models": refreshes_models,
        "lets_sink": lets_sink,
    }
)
"""In the order in which they are done."""
