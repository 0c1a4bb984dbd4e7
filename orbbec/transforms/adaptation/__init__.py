"""Adaptation of images to the look of other images: levels, colors, low frequencies."""

from orbbec.transforms.adaptation.adaptation import FDA, HistogramMatching, PixelDistributionAdaptation

__all__ = ["FDA", "HistogramMatching", "PixelDistributionAdaptation"]
