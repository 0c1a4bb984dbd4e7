"""Samples from files: images in folders and arrays, COCO, CIFAR, tar shards, databases of records.

Begin with folders.py. A reader gives a `Sample` for an index; detect.py finds the reader of a path, wrap.py
makes one of any torch dataset, pack.py writes any of them to tar shards.
"""
