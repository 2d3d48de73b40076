"""Open Souls' working memory, as far as the unit tests don't show it."""

import inspect

from daemon.core.working_memory import WorkingMemory


def test_the_regional_order_takes_names_one_by_one() -> None:
    for operation in ("with_regional_order", "order_regions", "without_regions"):
        parameters = inspect.signature(getattr(WorkingMemory, operation)).parameters
        assert [one.kind for one in parameters.values()][1:] == [inspect.Parameter.VAR_POSITIONAL]
