"""Several views of each image: `MultiView` and `MultiCrop`."""

from orbbec.transforms.views.views import MultiCrop, MultiView

__all__ = ["MultiCrop", "MultiView"]
