"""Readers: images in folders and arrays, COCO, CIFAR, tar shards, and databases of records.

Begin with folders.py; `annotations` has YOLO, Pascal VOC and masks, `cameras` several images and depth maps.
A reader returns a `Sample` for an index. detect.py finds the reader for a path, wrap.py adapts any torch
dataset, pack.py writes any source to tar shards.
"""
