"""The names of all cognitive steps, which are those of their modules."""

from pkgutil import iter_modules
from typing import Final

import daemon.mind.steps

STEPS: Final = tuple(sorted(module.name for module in iter_modules(daemon.mind.steps.__path__)))
