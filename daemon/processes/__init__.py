"""The mental processes a soul can be in, by name."""

from collections.abc import Mapping
from types import MappingProxyType

from daemon.mental_process import MentalProcess
from daemon.processes.engaged import engaged

PROCESSES: Mapping[str, MentalProcess] = MappingProxyType({"engaged": engaged})
