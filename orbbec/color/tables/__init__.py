"""Tables of values and histograms: lut, equalize_hist, clahe."""

from orbbec.color.tables.clahe import clahe
from orbbec.color.tables.tables import equalize_hist, lut

__all__ = ["clahe", "equalize_hist", "lut"]
