"""Bytes of image files to pixels: all of an image, the part that a plan reads, or the planes of a JPEG.

Begin with decode.py, which chooses the decoder and refuses what is damaged. native.py calls the libraries of
jpeg_*.cpp, nvimgcodec.py decodes on a device, region.py asks a plan which part it reads.
"""
