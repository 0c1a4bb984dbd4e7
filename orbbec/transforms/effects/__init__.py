"""Effects of optics, sensors and codecs that are made of existing operators, each in a pass of its own.

blurs.py has those of lenses and glass, kernels.py those of drawn kernels, artifacts.py those of edges,
sensors.py noise; weather.py has snow, fog and rain, spatter.py drops on the lens, flares.py the sun,
plasma.py uneven light.
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
from orbbec.transforms.effects.kernels import AdvancedBlur, LineBlur
from orbbec.transforms.effects.plasma import PlasmaBrightnessContrast, PlasmaShadow
from orbbec.transforms.effects.sensors import ISONoise
from orbbec.transforms.effects.spatter import Spatter
from orbbec.transforms.effects.weather import RandomFog, RandomRain, RandomSnow

__all__ = [
    "AdvancedBlur",
    "ChromaticAberration",
    "Emboss",
    "GlassBlur",
    "ISONoise",
    "LineBlur",
    "Morphological",
    "PlasmaBrightnessContrast",
    "PlasmaShadow",
    "RandomFog",
    "RandomRain",
    "RandomSnow",
    "RandomSunFlare",
    "RingingOvershoot",
    "Sharpen",
    "Spatter",
    "ZoomBlur",
]
