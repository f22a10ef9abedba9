"""torch.utils.data.datapipes._decorator: names for classes of datasets."""

from typing import Any

from adjoint.compat.torch_tree.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe


class functional_datapipe:  # PyTorch's name
    """Decorates a class of datasets: others have a method of this name that makes one of them."""

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name

    def __call__(self, cls: Any) -> Any:
        if not (isinstance(cls, type) and issubclass(cls, (IterDataPipe, MapDataPipe))):
            raise TypeError("functional_datapipe can only decorate IterDataPipe or MapDataPipe")
        base = IterDataPipe if issubclass(cls, IterDataPipe) else MapDataPipe
        base.register_datapipe_as_function(self.name, cls)
        return cls
