"""Operators and transforms compared with OpenCV, Pillow, torchvision and Albumentations on random cases."""
