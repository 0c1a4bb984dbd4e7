"""Threads in C++ that read, check and decode the images of batches, without Python's lock.

::

    paths | ranges of files | bytes --> read, header, checks --> rows: status, size, orientation
                                        regions of the rows  --> pixels or planes in one buffer

Begin with feed.py, which calls the functions of entry.cpp; feed.h has the structs of both. pool.h has the
threads and what they do next, batch.h the two phases of a batch, work.h the work on one image. files.h reads
files into the memory of blocks.h and checks them by crc32.h; header.h reads headers, and
orientation.h maps rectangles and pixels to stored images. Whatever is unusual is left to the caller.
"""
