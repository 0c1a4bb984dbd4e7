"""Decoding of image files: whole images, the regions that a plan reads, or the planes of a JPEG.

Begin with decode.py, which chooses the decoder and refuses damaged files. native.py calls the libraries of
jpeg_*.cpp, nvimgcodec.py decodes on a device, region.py determines the regions that a plan reads.
"""
