"""What is installed and what runs here, with advice for what is off.

Imports nothing of orbbec by its full name: `tools/collect_env.py` loads this folder alone, where orbbec
itself does not import.
"""

from .advice import advise
from .facts import Facts, Gpu, collect
from .report import report

__all__ = ["Facts", "Gpu", "advise", "collect", "report"]
