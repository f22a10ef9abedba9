"""All transforms: what PyTorch has under this path."""

from adjoint.distributions.number_transforms import (
    AbsTransform as AbsTransform,
    AffineTransform as AffineTransform,
    CumulativeDistributionTransform as CumulativeDistributionTransform,
    ExpTransform as ExpTransform,
    PowerTransform as PowerTransform,
    SigmoidTransform as SigmoidTransform,
    SoftplusTransform as SoftplusTransform,
    TanhTransform as TanhTransform,
)
from adjoint.distributions.transform import (
    ComposeTransform as ComposeTransform,
    IndependentTransform as IndependentTransform,
    ReshapeTransform as ReshapeTransform,
    Transform as Transform,
    identity_transform as identity_transform,
)
from adjoint.distributions.vector_transforms import (
    CatTransform as CatTransform,
    CorrCholeskyTransform as CorrCholeskyTransform,
    LowerCholeskyTransform as LowerCholeskyTransform,
    PositiveDefiniteTransform as PositiveDefiniteTransform,
    SoftmaxTransform as SoftmaxTransform,
    StackTransform as StackTransform,
    StickBreakingTransform as StickBreakingTransform,
)
