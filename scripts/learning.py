"""Shared by the trainings of the demo: layers and reports."""

from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from torch import nn


def convolutions(*channels: int) -> nn.Sequential:
    """Layers from each number of channels to the next; each halves height and width."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(channels):
        convolution = nn.Conv2d(inputs, outputs, kernel_size=3, stride=2, padding=1, bias=False)
        layers += [convolution, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


@dataclass
class Learned:
    """The result of a training.

    Args:
        name: name of the training.
        fall: the last loss must be below this fraction of the first.
        measure: what is measured before and after.
        losses: mean loss per epoch.
        before: the measure before.
        after: the measure after.
        passes: the passes of the pipeline, one line each.
        seconds: seconds of augmentation, and in total.
        sheet: contact sheet of the network's input.
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
        """A description of the result, and whether the training succeeded."""
        first, last, epochs = self.losses[0], self.losses[-1], len(self.losses)
        text = f"{self.name}: loss {first:.3f} in the first epoch, {last:.3f} in the last of {epochs}"
        measured = f"{self.measure} {self.before:.0%} before, {self.after:.0%} after"
        return f"{text}; {measured}", last < self.fall * first

    def pipeline(self) -> str:
        """The passes of the pipeline, and their time."""
        augmenting, whole = self.seconds
        return f"{self.passes}\n{augmenting:.1f} of {whole:.1f} s went to it; contact sheet: {self.sheet}"
