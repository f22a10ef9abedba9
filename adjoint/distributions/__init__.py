"""Probability distributions: samples with gradients, densities, entropies and divergences."""

from adjoint.distributions import constraints as constraints, transforms as transforms
from adjoint.distributions.categorical import (
    Categorical as Categorical,
    Multinomial as Multinomial,
    OneHotCategorical as OneHotCategorical,
    OneHotCategoricalStraightThrough as OneHotCategoricalStraightThrough,
)
from adjoint.distributions.composite import (
    Independent as Independent,
    MixtureSameFamily as MixtureSameFamily,
    TransformedDistribution as TransformedDistribution,
)
from adjoint.distributions.constraint_registry import (
    biject_to as biject_to,
    transform_to as transform_to,
)
from adjoint.distributions.continuous import (
    Cauchy as Cauchy,
    Laplace as Laplace,
    Normal as Normal,
    StudentT as StudentT,
    Uniform as Uniform,
    VonMises as VonMises,
)
from adjoint.distributions.counts import (
    Bernoulli as Bernoulli,
    Binomial as Binomial,
    ContinuousBernoulli as ContinuousBernoulli,
    Geometric as Geometric,
    NegativeBinomial as NegativeBinomial,
    Poisson as Poisson,
)
from adjoint.distributions.distribution import (
    Distribution as Distribution,
    ExponentialFamily as ExponentialFamily,
)
from adjoint.distributions.gammas import (
    Beta as Beta,
    Chi2 as Chi2,
    Dirichlet as Dirichlet,
    Exponential as Exponential,
    FisherSnedecor as FisherSnedecor,
    Gamma as Gamma,
)
from adjoint.distributions.kl import (
    kl_divergence as kl_divergence,
    register_kl as register_kl,
)
from adjoint.distributions.multivariate import (
    LKJCholesky as LKJCholesky,
    LowRankMultivariateNormal as LowRankMultivariateNormal,
    MultivariateNormal as MultivariateNormal,
    Wishart as Wishart,
)
from adjoint.distributions.relaxed import (
    RelaxedBernoulli as RelaxedBernoulli,
    RelaxedOneHotCategorical as RelaxedOneHotCategorical,
)
from adjoint.distributions.transformed import (
    GeneralizedPareto as GeneralizedPareto,
    Gumbel as Gumbel,
    HalfCauchy as HalfCauchy,
    HalfNormal as HalfNormal,
    InverseGamma as InverseGamma,
    Kumaraswamy as Kumaraswamy,
    LogisticNormal as LogisticNormal,
    LogNormal as LogNormal,
    Pareto as Pareto,
    Weibull as Weibull,
)
from adjoint.distributions.transforms import (
    AbsTransform as AbsTransform,
    AffineTransform as AffineTransform,
    CatTransform as CatTransform,
    ComposeTransform as ComposeTransform,
    CorrCholeskyTransform as CorrCholeskyTransform,
    CumulativeDistributionTransform as CumulativeDistributionTransform,
    ExpTransform as ExpTransform,
    IndependentTransform as IndependentTransform,
    LowerCholeskyTransform as LowerCholeskyTransform,
    PositiveDefiniteTransform as PositiveDefiniteTransform,
    PowerTransform as PowerTransform,
    ReshapeTransform as ReshapeTransform,
    SigmoidTransform as SigmoidTransform,
    SoftmaxTransform as SoftmaxTransform,
    SoftplusTransform as SoftplusTransform,
    StackTransform as StackTransform,
    StickBreakingTransform as StickBreakingTransform,
    TanhTransform as TanhTransform,
    Transform as Transform,
    identity_transform as identity_transform,
)
