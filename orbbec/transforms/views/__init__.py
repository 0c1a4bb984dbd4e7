"""Several views of each image: `MultiView`, `MultiCrop`, `FiveCrop` and `TenCrop`."""

from orbbec.transforms.views.views import FiveCrop, MultiCrop, MultiView, TenCrop

__all__ = ["FiveCrop", "MultiCrop", "MultiView", "TenCrop"]
