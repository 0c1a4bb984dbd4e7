"""Elastic transforms: displacement by smoothed noise."""

from orbbec.warpaffine.elastic.elastic import elastic_displacement, elastic_transform

__all__ = ["elastic_displacement", "elastic_transform"]
