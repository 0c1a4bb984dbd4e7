"""Boxes, masks, points and polygons that follow the images of a plan.

Begin with targets.py, then state.py: the targets of one image on their way through the passes. options.py
says what targets look like, mixed.py what becomes of them where images are mixed.
"""
