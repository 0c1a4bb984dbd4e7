"""Boxes, masks, points and polygons that follow the images of a plan.

Begin with targets.py, then state.py, which carries the targets of one image through the passes. options.py
defines the format of targets, masks.py moves masks, mixed.py combines the targets of mixed images.
"""
