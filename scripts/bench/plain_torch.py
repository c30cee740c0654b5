"""The network in plain PyTorch functions, made of the checkpoint's arrays."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from ssd_detect.model.spec import L2_EPSILON, Conv, Head, Pool, gamma_name, network

torch: Any = import_module("torch")
functional: Any = import_module("torch.nn.functional")


class TorchSsd:
    """SSD300 or SSD512 with its feature maps in NHWC memory.

    Args:
        arrays: name below the root scope -> values, kernels HWIO.
        size: of the input.
        mean_rgb: subtracted from each pixel.
    """

    def __init__(self, arrays: Mapping[str, Any], size: int, mean_rgb: list[float]) -> None:
        self._described = network(size)
        self._mean = torch.tensor(mean_rgb)
        self._weights = {name: self._as_torch(values) for name, values in arrays.items()}

    @staticmethod
    def _as_torch(values: Any) -> Any:
        tensor = torch.from_numpy(values)
        if tensor.ndim < 4:
            return tensor
        return tensor.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)  # HWIO to OIHW

    def __call__(self, pictures: Any) -> tuple[Any, Any]:
        """Scores (B, N, C) and offsets (B, N, 4) of (B, size, size, 3) float32 pictures."""
        x = (pictures - self._mean).permute(0, 3, 1, 2)  # NCHW, channels last in memory
        maps: dict[str, Any] = {}
        for layer in self._described.layers:
            if isinstance(layer, Conv):
                x = maps[layer.name] = functional.relu_(self._convolve(x, layer))
            else:
                x = self._pool(x, layer)
        logits, offsets = zip(*(self._head(maps[head.source], head) for head in self._described.heads), strict=True)
        return torch.softmax(torch.cat(logits, 1), -1), torch.cat(offsets, 1)

    def _convolve(self, x: Any, conv: Conv) -> Any:
        kernel, bias = self._weights[f"{conv.name}/weights"], self._weights[f"{conv.name}/biases"]
        return functional.conv2d(x, kernel, bias, conv.stride, conv.pad, conv.dilation)

    @staticmethod
    def _pool(x: Any, pool: Pool) -> Any:
        return functional.max_pool2d(x, pool.kernel, pool.stride, pool.kernel // 3, ceil_mode=True)

    def _head(self, x: Any, head: Head) -> tuple[Any, Any]:
        if head.normalised:
            x = functional.normalize(x, dim=1, eps=L2_EPSILON**0.5)
            x = x * self._weights[gamma_name(head)].reshape(1, -1, 1, 1)
        return self._cells(x, f"{head.scope}/conv_cls", head), self._cells(x, f"{head.scope}/conv_loc", head)

    def _cells(self, x: Any, name: str, head: Head) -> Any:
        """(B, anchors of the map, values of each), by row, column, anchor of the cell."""
        y = self._convolve(x, Conv(name, kernel=3, channels=0, pad=1)).permute(0, 2, 3, 1)
        return y.reshape(len(y), y.shape[1] * y.shape[2] * head.anchors_per_cell, -1)
