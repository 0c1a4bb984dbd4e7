"""Albumentations objects: stand-ins that need no library, and real ones of either version."""

import inspect
from typing import Any

RENAMED = {  # since AlbumentationsX
    **{"limit": "angle_range", "scale_limit": "scale_range", "gamma_limit": "gamma_range"},
    **{"blur_limit": "blur_range", "sigma_limit": "sigma_range"},
    **{name: f"{name}_range" for name in ("brightness", "contrast", "saturation", "hue")},
    **{f"{name}_limit": f"{name}_range" for name in ("brightness", "contrast", "temperature", "clip")},
    **{f"{name}_shift_limit": f"{name}_shift_range" for name in ("hue", "sat", "val", "r", "g", "b")},
    **{f"num_masks_{axis}": f"num_masks_{axis}_range" for axis in "xy"},
    **{f"mask_{axis}_length": f"mask_{axis}_length_range" for axis in "xy"},
    "num_shadows_limit": "num_shadows_range",
    **{name: f"{name}_range" for name in ("alpha", "radius", "alias_blur", "amount", "salt_vs_pepper")},
    **{name: f"{name}_range" for name in ("max_factor", "step_factor", "strength", "cutoff", "lightness")},
    **{f"{name}_distortion_limit": f"{name}_distortion_range" for name in ("primary", "secondary")},
    "max_objects": "max_objects_range",
    **{name: f"{name}_range" for name in ("mean", "std", "gauss_sigma", "cutout_threshold", "intensity")},
    **{f"{name}_limit": f"{name}_range" for name in ("sigma_x", "sigma_y", "rotate", "beta", "noise")},
    **{"format": "coord_format", "clip": "clip_bboxes_on_input"},
}


def stand_in(kind: str, module: str = "albumentations.augmentations", **attributes: Any) -> Any:
    """An object of a class with this name and module, with attributes and `p` of 1."""
    step = type(kind, (), {"__module__": module})()
    vars(step).update({"p": 1.0, **attributes})
    return step


def made(library: Any, kind: str, arguments: dict[str, Any]) -> Any:
    """An object of Albumentations 2.0, or of AlbumentationsX, whose ranges need two numbers."""
    make = getattr(library, kind)
    known = inspect.signature(make.__init__).parameters
    own = {}
    for name, value in arguments.items():
        if name in known:
            own[name] = value
        else:
            own[RENAMED[name]] = (
                (value, value) if isinstance(value, (int, float)) and name != "clip" else value
            )
    return make(**own)
