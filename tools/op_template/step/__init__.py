"""Scale the pixels of images and add an offset: a transform, and a color step of `augment`."""

__all__: list[str] = []
