"""Adjust colors as torchvision does, and the sums of images that this needs."""
