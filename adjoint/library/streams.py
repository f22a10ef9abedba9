"""A stream of work on a device, by its numbers; on a CPU, work is done when a call returns."""

from typing import Any

from adjoint.device import device as as_device

# Kinds of devices by PyTorch's numbers, as far as programs name them.
_KINDS = ("cpu", "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip", "fpga", "maia", "xla")


class Stream:
    """Names a stream of a device; the CPU has one, which nothing waits for."""

    def __init__(
        self,
        device: Any = None,
        *,
        priority: int = 0,
        stream_id: int = 0,
        device_index: int = -1,
        device_type: int = 0,
    ) -> None:
        if device is not None:
            place = as_device(device)
            if place.type != "cpu":
                raise RuntimeError(
                    f"Stream: streams of {place.type} are those of torch.cuda.Stream, not made here"
                )
        if not 0 <= device_type < len(_KINDS):
            raise ValueError(f"Stream: there is no kind of device of number {device_type}")
        self.stream_id = stream_id
        self.device_index = device_index
        self.device_type = device_type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self._numbers() == other._numbers()

    def __hash__(self) -> int:
        return hash(self._numbers())

    def __repr__(self) -> str:
        kind = _KINDS[self.device_type]
        return (
            f"torch.Stream device_type={kind}, device_index={self.device_index}, "
            f"stream_id={self.stream_id}"
        )

    def _numbers(self) -> tuple[int, int, int]:
        return self.stream_id, self.device_index, self.device_type

    def query(self) -> bool:
        """Whether all of its work is done: it is."""
        return True

    def synchronize(self) -> None:
        """Wait until its work is done: it is."""
