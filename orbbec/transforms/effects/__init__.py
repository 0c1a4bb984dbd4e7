"""Effects of optics, sensors and codecs that are made of existing operators, each in a pass of its own.

blurs.py has those of lenses and glass, artifacts.py those of edges, sensors.py noise.
"""

from orbbec.transforms.effects.artifacts import (
    ChromaticAberration,
    Emboss,
    Morphological,
    RingingOvershoot,
    Sharpen,
)
from orbbec.transforms.effects.blurs import GlassBlur, ZoomBlur
from orbbec.transforms.effects.sensors import ISONoise

__all__ = [
    "ChromaticAberration",
    "Emboss",
    "GlassBlur",
    "ISONoise",
    "Morphological",
    "RingingOvershoot",
    "Sharpen",
    "ZoomBlur",
]
