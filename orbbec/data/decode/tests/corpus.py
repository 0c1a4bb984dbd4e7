"""PNGs and WebPs of every kind."""

import random

from orbbec.data.decode.tests.files import PREFIX, chunk, exif, with_chunk
from orbbec.data.decode.tests.test_codecs import COLORS, OF_PILLOW, RED, TRANSPARENT, WEBPS, palette, png
from orbbec.data.decode.tests.test_decode import encoded, picture
from tests.support.damage.damage import flipped, huge


def _pngs():
    """PNGs of every color type, depth and transparency, also interlaced, and with EXIF of any kind."""
    for color, depths in COLORS.items():
        for bits in depths:
            chunks = [palette(1 << bits)] if color == 3 else []
            for interlaced in (False, True):
                yield png(color, bits, (13, 18), *chunks, interlaced=interlaced, pieces=2)
    for color, bits, content in TRANSPARENT.values():
        chunks = [palette(16)] if color == 3 else []
        yield png(color, bits, (9, 11), *chunks, chunk(b"tRNS", content))
    blocks = [exif(6), exif(9), exif(3, order=">"), exif(7, version=43), exif(5)[:20], exif(), b"II", b""]
    for block in (*blocks, *(PREFIX + block for block in blocks), PREFIX + PREFIX + exif(8)):
        yield with_chunk(RED, b"eXIf", block)
    yield from OF_PILLOW.values()
    yield huge("png", RED)


def pngs_and_webps():
    """Good PNGs and WebPs, and damaged copies."""
    chance = random.Random(2)
    good = [*_pngs(), *WEBPS.values()]
    good += [encoded(picture(24, 40), kind, way) for kind in ("PNG", "WEBP") for way in range(1, 9)]
    large = [encoded(picture(250, 410), kind) for kind in ("PNG", "WEBP")]
    cut = [data[: len(data) * part // 8] for data in good[::3] for part in range(8)]
    return [*good, *large, *cut, *(flipped(data, chance) for data in good * 4)]
