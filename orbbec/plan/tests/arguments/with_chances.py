"""Arguments of transforms that also take a chance, which `draw_arguments.py` combines with them."""

FILL = (30.0, 90.0, 200.0)
REFERENCES = ["one.png", "two.png", "three.png"]
WITH_CHANCES = {
    "AdvancedBlur": [{}, {"kernel_size": 5, "sigma_x_range": (1.0, 2.0), "beta_range": (0.8, 2.0)}],
    "ConstrainedCoarseDropout": [{}, {"num_holes_range": (1, 3), "hole_height_range": (0.2, 0.5)}],
    "FDA": [{"references": REFERENCES}, {"references": REFERENCES[:1], "beta_range": (0.2, 0.4)}],
    "HistogramMatching": [{"references": REFERENCES}, {"references": REFERENCES, "blend_ratio": (0.1, 0.2)}],
    "LineBlur": [{}, {"kernel_size": (5, 9), "allow_shifted": False}, {"direction_range": (-0.5, 0.9)}],
    "MaskDropout": [{}, {"max_objects_range": (1, 4), "fill": FILL}],
    "PixelDistributionAdaptation": [
        {"references": REFERENCES},
        {"references": REFERENCES, "transform_type": "minmax"},
    ],
    "PlasmaBrightnessContrast": [{}, {"brightness_range": (0.1, 0.4), "roughness": 2.0}],
    "PlasmaShadow": [{}, {"shadow_intensity_range": (0.1, 0.2), "per_frame": True}],
    "Spatter": [{}, {"mode": "mud", "mean_range": (0.3, 0.6), "gauss_sigma_range": (1.0, 3.0)}],
    "Sharpen": [{}, {"alpha": 0.4, "lightness": (0.1, 1.5)}],
    "RingingOvershoot": [{}, {"kernel_size": 5, "cutoff": 1.0}, {"kernel_size": (3, 21)}],
    "ZoomBlur": [{}, {"max_factor": 1.4, "step_factor": (0.05, 0.2)}],
    "Vignetting": [{}, {"intensity_range": (0.3, 0.9), "center_range": (0.1, 0.6)}],
    "UnsharpMask": [{}, {"kernel_size": 5, "sigma": (0.5, 2.0), "alpha": 0.3, "threshold": 0.0}],
    "CropNonEmptyMaskIfExists": [{"size": 20}, {"size": (9, 16), "ignore_values": (2, 3)}],
    "Perspective": [{}, {"scale": (0.0, 0.4), "keep_size": False, "fill": FILL}, {"fit_output": True}],
    "RandomCropFromBorders": [{}, {"crop_left": 0.6, "crop_right": 0.4, "crop_top": 0.0, "crop_bottom": 0.7}],
    "RandomFog": [{}, {"alpha_coef": 0.2, "fog_coef_range": (0.1, 0.4), "per_frame": True}],
    "RandomGridShuffle": [{}, {"grid": (2, 5)}],
    "RandomRain": [
        {},
        {"slant_range": (3.0, 9.0), "drop_length": 5, "rain_type": "heavy", "per_frame": False},
    ],
    "RandomSnow": [{}, {"brightness_coeff": 1.5, "snow_point_range": (0.3, 0.9)}],
    "RandomSunFlare": [
        {},
        {"flare_roi": (0.2, 0.1, 0.7, 0.9), "src_radius": 60},
    ],
    "SafeRotate": [{}, {"degrees": (20, 70), "fill": FILL}, {"degrees": 9, "padding_mode": "edge"}],
    "XYMasking": [
        {},
        {"num_masks_x_range": (0, 3), "mask_x_length_range": (2, 9), "fill": FILL},
        {"num_masks_x_range": 0, "num_masks_y_range": (1, 2), "fill": "random_uniform"},
    ],
}
