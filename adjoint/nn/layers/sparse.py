"""Embeddings as layers."""

from typing import Any, Self

from adjoint.autograd.grad_mode import no_grad
from adjoint.creation.factories import empty
from adjoint.nn import functional, init
from adjoint.nn.module import Module
from adjoint.nn.parameter import Parameter


class _Table(Module):
    """A table with a row for each of num_embeddings numbers."""

    def _prepare(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None,
        max_norm: float | None,
        norm_type: float,
        scale_grad_by_freq: bool,
        sparse: bool,
    ) -> None:
        """What all tables have, but for the weight."""
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError(
                    f"padding_idx must be within num_embeddings, {num_embeddings}, got "
                    f"{padding_idx}"
                )
            padding_idx %= num_embeddings
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse

    def _fill(self, weight: Any, freeze: bool, device: Any, dtype: Any) -> None:
        """The weight: one that is given, or one that is drawn."""
        shape = (self.num_embeddings, self.embedding_dim)
        if weight is None:
            made = empty(shape, device=device, dtype=dtype)
            self.weight = Parameter(made, requires_grad=not freeze)
            self.reset_parameters()
            return
        if tuple(weight.shape) != shape:
            raise AssertionError(
                f"Shape of weight does not match num_embeddings and embedding_dim: "
                f"{list(weight.shape)}, expected {list(shape)}"
            )
        self.weight = Parameter(weight, requires_grad=not freeze)

    def reset_parameters(self) -> None:
        """Draw the rows from a normal distribution; that of padding is zeros."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self) -> None:
        """Let the row of padding be zeros: programs that draw the rows themselves call it."""
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, **options: Any) -> Self:
        """A layer around given rows, which training leaves alone unless freeze=False."""
        if embeddings.ndim != 2:
            raise AssertionError(
                f"Embeddings parameter is expected to be 2-dimensional, got {embeddings.ndim}"
            )
        rows, columns = embeddings.shape
        return cls._around(rows, columns, embeddings, freeze, options)

    @classmethod
    def _around(
        cls, rows: int, columns: int, weight: Any, freeze: bool, options: dict[str, Any]
    ) -> Self:
        made = cls(rows, columns, _weight=weight, **options)
        made.weight.requires_grad_(not freeze)
        return made

    def _shown(self, *names: str) -> str:
        """The sizes, and of the fields those that are not as usual."""
        usual = {"max_norm": None, "norm_type": 2, "scale_grad_by_freq": False}
        usual |= {"padding_idx": None, "sparse": False, "mode": None}
        parts = [f"{self.num_embeddings}, {self.embedding_dim}"]
        for name in names:
            if getattr(self, name) != usual[name]:
                parts.append(f"{name}={getattr(self, name)!r}")
        return ", ".join(parts)


class Embedding(_Table):
    """The row of weight for each index."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Any = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        sizes = (num_embeddings, embedding_dim, padding_idx)
        self._prepare(*sizes, max_norm, norm_type, scale_grad_by_freq, sparse)
        self._fill(_weight, _freeze, device, dtype)

    @classmethod
    def _around(
        cls, rows: int, columns: int, weight: Any, freeze: bool, options: dict[str, Any]
    ) -> Self:
        return cls(rows, columns, _weight=weight, _freeze=freeze, **options)  # may be integers

    def forward(self, input: Any) -> Any:
        """The rows of the indices in input."""
        return functional.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self) -> str:
        """The sizes, and what is not as usual."""
        names = ("padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse")
        return self._shown(*names)


class EmbeddingBag(_Table):
    """The sum, mean or maximum of the rows of weight in each bag."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Any = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        sizes = (num_embeddings, embedding_dim, padding_idx)
        self._prepare(*sizes, max_norm, norm_type, scale_grad_by_freq, sparse)
        self.mode = mode
        self.include_last_offset = include_last_offset
        self._fill(_weight, False, device, dtype)

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        """The bags of the indices in input."""
        return functional.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        """The sizes, what is not as usual, and the mode."""
        return self._shown("max_norm", "norm_type", "scale_grad_by_freq", "mode", "padding_idx")
