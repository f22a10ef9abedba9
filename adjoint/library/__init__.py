"""Custom operators; docs/notes/functions.md shows them at work."""

from adjoint.library.custom_op import (
    CustomOpDef as CustomOpDef,
    custom_op as custom_op,
    lookup as lookup,
    ops as ops,
)
from adjoint.library.fake import get_ctx as get_ctx
from adjoint.library.legacy import (
    impl_abstract as impl_abstract,
    impl_backward as impl_backward,
    impl_save_for_backward as impl_save_for_backward,
)
from adjoint.library.opcheck import OpCheckError as OpCheckError, opcheck as opcheck
from adjoint.library.registration import (
    Library as Library,
    define as define,
    impl as impl,
    register_autocast as register_autocast,
    register_autograd as register_autograd,
    register_fake as register_fake,
    register_kernel as register_kernel,
    register_torch_dispatch as register_torch_dispatch,
    register_vmap as register_vmap,
)
from adjoint.library.schema import infer_schema as infer_schema
from adjoint.library.undoing import scoped as scoped
