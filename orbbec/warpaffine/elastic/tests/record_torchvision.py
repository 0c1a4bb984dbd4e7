"""Records the results of torchvision's ElasticTransform for our noise; run with torchvision 0.25."""

from pathlib import Path
from unittest import mock

import numpy as np

from orbbec.noise.philox import philox_noise
from tests.support import photographs

# Height, width, alpha (x, y), sigma; torchvision needs sides larger than half a window.
CASES = [
    (24, 24, (50.0, 50.0), 2.0),
    (33, 50, (80.0, 30.0), 3.1),
    (40, 31, (200.0, 500.0), 4.0),
    (20, 20, (5.0, 5.0), 0.0),
]


def main() -> None:
    import torchvision
    from torchvision.transforms.v2 import ElasticTransform

    arrays = {"version": np.array(torchvision.__version__)}
    for index, (height, width, alpha, sigma) in enumerate(CASES):
        noise = iter(philox_noise([index], 2, (height, width), seed=11)[0])
        transform = ElasticTransform(list(alpha), sigma, fill=None)
        image = photographs(1, 3, height, width, seed=index)[0]
        with mock.patch("torch.rand", lambda *_, noise=noise: next(noise)[None, None]):
            parameters = transform.make_params([image])
        arrays |= {
            f"{index}/image": image.numpy(),
            f"{index}/alpha": np.array(alpha),
            f"{index}/sigma": np.array(sigma),
            f"{index}/displacement": parameters["displacement"].numpy(),
            f"{index}/uint8": transform.transform(image, parameters).numpy(),
            f"{index}/float32": transform.transform(image / 255, parameters).numpy(),
        }
    np.savez_compressed(Path(__file__).with_name("torchvision.npz"), **arrays)


if __name__ == "__main__":
    main()
