"""What the trainings of the demo share: layers, and what is said of a training."""

from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from torch import nn


def convolutions(*channels: int) -> nn.Sequential:
    """Layers from each number of channels to the next, each halving height and width."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(channels):
        convolution = nn.Conv2d(inputs, outputs, kernel_size=3, stride=2, padding=1, bias=False)
        layers += [convolution, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


@dataclass
class Learned:
    """What came out of a training.

    Args:
        name: of the training.
        fall: the last loss is to be below this fraction of the first.
        measure: what is measured before and after.
        losses: the mean of each epoch.
        before: the measure before.
        after: the measure after.
        passes: of the pipeline, a line each.
        seconds: of augmenting, and of the whole.
        sheet: with pictures of what the network saw.
    """

    name: str
    fall: float
    measure: str
    losses: list[float] = field(default_factory=list)
    before: float = 0.0
    after: float = 0.0
    passes: str = ""
    seconds: tuple[float, float] = (0.0, 0.0)
    sheet: Path = Path()

    def check(self) -> tuple[str, bool]:
        """What came out, in words, and whether it learned."""
        first, last, epochs = self.losses[0], self.losses[-1], len(self.losses)
        text = f"{self.name}: loss {first:.3f} in the first epoch, {last:.3f} in the last of {epochs}"
        measured = f"{self.measure} {self.before:.0%} before, {self.after:.0%} after"
        return f"{text}; {measured}", last < self.fall * first

    def pipeline(self) -> str:
        """The passes of the pipeline, and what they took."""
        augmenting, whole = self.seconds
        return f"{self.passes}\n{augmenting:.1f} of {whole:.1f} s went to it; contact sheet: {self.sheet}"
