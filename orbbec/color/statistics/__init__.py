"""Statistics of channels: mean, standard deviation, histogram."""

from orbbec.color.statistics.statistics import ChannelStatistics, channel_statistics

__all__ = ["ChannelStatistics", "channel_statistics"]
