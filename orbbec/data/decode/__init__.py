"""Decoding of image files: whole images, the regions that a plan reads, or the planes of a JPEG.

Begin with decode.py, which chooses the decoder and refuses damaged files. native.py calls the libraries of
jpeg_*.cpp, codecs.py those of png.cpp and webp.cpp, by_pillow.py decodes what they do not, nvimgcodec.py
decodes on a device. exif.py reads orientations, modes.py converts modes and channels, region.py determines
the regions that a plan reads.
"""
