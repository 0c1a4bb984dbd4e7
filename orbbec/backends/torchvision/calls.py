"""Routing of calls to orbbec or torchvision, and a report with reasons."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.autograd.forward_ad import unpack_dual

from orbbec.backends.torchvision.functions import Function, is_pillow
from orbbec.backends.torchvision.patches import REFUSALS, is_recorded, stand_in
from orbbec.bridge.arguments import dtype_name
from orbbec.transforms.base.tv_tensors import images_like, plain


@dataclass
class Report:
    """Calls of switched functions in this process since the switch was set.

    Args:
        ours: calls run by orbbec, by function.
        others: calls run by torchvision, by function and reason.

    Example:
        >>> report = Report()
        >>> report.ours["v2 solarize"] += 2
        >>> report.others["v2 solarize", "float64, which is not covered"] += 1
        >>> print(report)
        v2 solarize: 2 by orbbec, 1 by torchvision (1 float64, which is not covered)
    """

    ours: Counter[str] = field(default_factory=Counter)
    others: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __str__(self) -> str:
        names = dict.fromkeys([*self.ours, *(name for name, _ in self.others)])
        return "\n".join(map(self._line, names)) or "no calls"

    def _line(self, name: str) -> str:
        reasons = {reason: count for (of, reason), count in self.others.items() if of == name}
        told = ", ".join(f"{count} {reason}" for reason, count in reasons.items())
        theirs = f", {sum(reasons.values())} by torchvision ({told})" if reasons else ""
        return f"{name}: {self.ours[name]} by orbbec{theirs}"


def routed(function: Function, original: Callable[..., Any], exact: bool, report: Report) -> Any:
    """A function that tries `function` and falls back to `original`."""
    kinds = function.exact if exact else function.exact | function.close

    def call(*args: Any, **kwargs: Any) -> Any:
        if is_recorded() or not args:
            return original(*args, **kwargs)
        image = plain(args[0])
        reason = refusal(function, kinds, image)
        if not reason:
            try:
                result = function.run(image, *args[1:], **kwargs)
            except REFUSALS as error:
                reason = str(error)
            else:
                report.ours[function.name] += 1
                return result if function.api == "v1" else images_like(result, args[0])
        report.others[function.name, reason] += 1
        return original(*args, **kwargs)

    return stand_in(call, original)


def refusal(function: Function, kinds: frozenset[str], image: Any) -> str:
    """Why orbbec does not take an image; empty if it does."""
    if function.image == "path":
        return ""
    if function.image == "PIL":
        kind = image.mode if is_pillow(image) else type(image).__name__
        return _uncovered(function, kinds, kind)
    if not isinstance(image, Tensor):
        return type(image).__name__
    kind = dtype_name(image.dtype)
    if image.dim() not in (3, 4) or image.shape[-3] not in (1, 3) or image.numel() == 0:
        return f"{kind} of shape {list(image.shape)}"
    if image.device.type not in ("cpu", "cuda"):
        return f"on {image.device.type}"
    if image.is_floating_point() and _is_differentiated(image):
        return "needs a gradient"
    if torch.is_autocast_enabled(image.device.type) or torch.get_default_dtype() != torch.float32:
        return f"{kind} under another dtype"
    return _uncovered(function, kinds, kind)


def _is_differentiated(image: Tensor) -> bool:
    tangent = unpack_dual(image).tangent  # type: ignore[no-untyped-call]
    return (image.requires_grad and torch.is_grad_enabled()) or tangent is not None


def _uncovered(function: Function, kinds: frozenset[str], kind: str) -> str:
    if kind in kinds:
        return ""
    return f"{kind}, which differs slightly" if kind in function.close else f"{kind}, which is not covered"
