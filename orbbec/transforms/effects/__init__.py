"""Effects of optics, sensors and codecs that are made of existing operators, each in a pass of its own.

blurs.py has those of lenses and glass, artifacts.py those of edges, sensors.py noise; weather.py has
snow, fog and rain, flares.py the sun.
"""

from orbbec.transforms.effects.artifacts import (
    ChromaticAberration,
    Emboss,
    Morphological,
    RingingOvershoot,
    Sharpen,
)
from orbbec.transforms.effects.blurs import GlassBlur, ZoomBlur
from orbbec.transforms.effects.flares import RandomSunFlare
from orbbec.transforms.effects.sensors import ISONoise
from orbbec.transforms.effects.weather import RandomFog, RandomRain, RandomSnow

__all__ = [
    "ChromaticAberration",
    "Emboss",
    "GlassBlur",
    "ISONoise",
    "Morphological",
    "RandomFog",
    "RandomRain",
    "RandomSnow",
    "RandomSunFlare",
    "RingingOvershoot",
    "Sharpen",
    "ZoomBlur",
]
