"""Tables of values and histograms: lut, equalize_hist, clahe, statistics of channels."""

from orbbec.color.tables.clahe import clahe
from orbbec.color.tables.tables import ChannelStatistics, channel_statistics, equalize_hist, lut

__all__ = ["ChannelStatistics", "channel_statistics", "clahe", "equalize_hist", "lut"]
