"""The former name of `orbbec.bridge.pointwise`, for `orbbec.mix`."""

from orbbec.bridge.pointwise import count_of, fake_like, images_input, whole_numbers

__all__ = ["count_of", "fake_like", "images_input", "whole_numbers"]
