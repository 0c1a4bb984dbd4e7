"""Readers of samples of several images, such as those of a stereo camera or a robot, and of depth maps.

Begin with several.py: `SeveralImages` joins sources. camera_folders.py and depth_folder.py read folders whose
files have the same names.
"""
