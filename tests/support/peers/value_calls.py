"""Reference functions for transforms of colors, dropouts and degradations, with the parameters drawn.

Needs `cv2` or `PIL`.
"""

from __future__ import annotations

import numpy as np

from orbbec.bridge.arguments import Array
from tests.support.peers.transform_calls import Call, by_one

_VECTOR = 64  # OpenCV rounds the pixels after the last whole vector of a row differently


@by_one
def hsv_changed(call: Call, image: Array, n: int) -> Array:
    """By `cv2.cvtColor` and tables of bytes."""
    import cv2

    numbers = call.columns
    if numbers["color0.code"][n] == 0:
        return image
    shift, *lines = (numbers[f"color0.a{index}"][n].astype(float) for index in range(5))
    levels = np.arange(256.0)
    tables = [(levels + shift) % 180, levels * lines[0] + lines[1], levels * lines[2] + lines[3]]
    tables[1][0] = 0
    width = image.shape[1]
    whole = np.pad(image, ((0, 0), (0, -width % _VECTOR), (0, 0)))
    pairs = zip(cv2.split(cv2.cvtColor(whole, cv2.COLOR_RGB2HSV)), tables, strict=True)
    channels = [cv2.LUT(values, np.clip(table, 0, 255).astype(np.uint8)) for values, table in pairs]
    return np.asarray(cv2.cvtColor(cv2.merge(channels), cv2.COLOR_HSV2RGB))[:, :width]


@by_one
def channels_dropped(call: Call, image: Array, n: int) -> Array:
    result = image.copy()
    if call.columns["color0.code"][n]:
        diagonal = [call.columns[f"color0.a{index}"][n] for index in (0, 4, 8)]
        result[..., [factor == 0 for factor in diagonal]] = call.transform.fill
    return result


@by_one
def holes_filled(call: Call, image: Array, n: int) -> Array:
    result, columns = image.copy(), call.columns
    for index in range(sum(name.endswith(".left") for name in columns if name.startswith("erase"))):
        left, top, right, bottom = (
            int(columns[f"erase{index}.{edge}"][n]) for edge in ("left", "top", "right", "bottom")
        )
        result[top:bottom, left:right] = call.transform.fill
    return result


@by_one
def cells_exchanged(call: Call, image: Array, n: int) -> Array:
    """By slices, with the largest cells first along each axis where they differ in size."""
    columns, (height, width) = call.columns, image.shape[:2]
    ends = []
    for side, order in ((height, columns["row_order"][n]), (width, columns["column_order"][n])):
        lengths = np.full(len(order), side // len(order))
        lengths[order < side % len(order)] += 1
        ends.append([0, *np.cumsum(lengths).tolist()])
    rows, across = len(ends[0]) - 1, len(ends[1]) - 1
    cells = [
        (slice(ends[0][k // across], ends[0][k // across + 1]), slice(*ends[1][k % across : k % across + 2]))
        for k in range(rows * across)
    ]
    result, order = image.copy(), columns["order"][n]
    shapes = [image[cell].shape for cell in cells]
    for shape in set(shapes):
        alike = [k for k, each in enumerate(shapes) if each == shape]
        for source, output in zip(alike, sorted(alike, key=lambda k: order[k]), strict=True):
            result[cells[output]] = image[cells[source]]
    return result if columns["drawn"][n] else image


@by_one
def equalized_by_tiles(call: Call, image: Array, n: int) -> Array:
    import cv2

    if not call.columns["drawn"][n]:
        return image
    rows, columns = call.transform.tile_grid_size
    lab = cv2.cvtColor(image, cv2.COLOR_RGB2LAB)
    equalizer = cv2.createCLAHE(float(call.columns["clip_limit"][n]), (columns, rows))
    lab[..., 0] = equalizer.apply(np.ascontiguousarray(lab[..., 0]))
    return np.asarray(cv2.cvtColor(lab, cv2.COLOR_LAB2RGB))


@by_one
def downscaled(call: Call, image: Array, n: int) -> Array:
    import cv2

    for step in call.plan.passes:
        height, width = step.sizes[n].tolist()
        image = cv2.resize(image, (width, height), interpolation=cv2.INTER_NEAREST)
    return np.asarray(image)


@by_one
def brightened(call: Call, image: Array, n: int) -> Array:
    columns = call.columns
    gains = np.ones(image.shape[:2], np.float32)
    for (left, top, right, bottom), factor in zip(columns["boxes"][n], columns["factors"][n], strict=True):
        gains[top:bottom, left:right] *= np.float32(factor)
    changed = np.clip(np.rint(image * gains[..., None]), 0, 255).astype(np.uint8)
    return np.asarray(changed if columns["drawn"][n] else image)


@by_one
def embossed(call: Call, image: Array, n: int) -> Array:
    import cv2

    columns = call.columns
    alpha, strength = (float(columns[name][n]) for name in ("alpha", "strength"))
    relief = np.array(
        [[-1 - strength, -strength, 0], [-strength, 1, strength], [0, strength, 1 + strength]], np.float64
    )
    kernel = (1 - alpha) * np.diag([0.0, 1.0, 0.0]) + alpha * relief
    result = cv2.filter2D(image, -1, kernel.astype(np.float32)) if columns["drawn"][n] else image
    return np.asarray(result)


@by_one
def sharpened(call: Call, image: Array, n: int) -> Array:
    import cv2

    columns = call.columns
    alpha, lightness = (float(columns[name][n]) for name in ("alpha", "lightness"))
    kernel = (1 - alpha) * np.diag([0.0, 1.0, 0.0]) - alpha * np.ones((3, 3))
    kernel[1, 1] += alpha * (9 + lightness)
    result = cv2.filter2D(image, -1, kernel.astype(np.float32)) if columns["drawn"][n] else image
    return np.asarray(result)


@by_one
def box_blurred(call: Call, image: Array, n: int) -> Array:
    import cv2

    side = int(call.columns["kernel_size"][n])
    return np.asarray(cv2.blur(image, (side, side)) if call.columns["drawn"][n] else image)


@by_one
def morphed(call: Call, image: Array, n: int) -> Array:
    import cv2

    if not call.columns["drawn"][n]:
        return image
    height, width = call.transform.size
    ellipse = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (width, height))
    change = cv2.dilate if call.transform.operation == "dilation" else cv2.erode
    return np.asarray(change(image, ellipse)).reshape(image.shape)


@by_one
def blurred_by_pillow(call: Call, image: Array, n: int) -> Array:
    from PIL import Image, ImageFilter

    if not call.columns["drawn"][n]:
        return image
    blur = ImageFilter.GaussianBlur(float(call.columns["radius"][n]))
    return np.asarray(Image.fromarray(image).filter(blur))
