"""A check of the installation, with advice on problems.

Nothing here imports orbbec by its full name: `tools/collect_env.py` loads only this folder when orbbec cannot
be imported.
"""

from .advice import Advice, advise
from .facts import Facts, Gpu, Package, collect
from .report import report

__all__ = ["Advice", "Facts", "Gpu", "Package", "advise", "collect", "report"]
