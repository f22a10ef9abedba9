"""Old and private members of adjoint's classes, which PyTorch's programs use on their objects."""

from typing import Any

from adjoint.autograd.function_node import FunctionCtx
from adjoint.autograd.graph import MutationContext
from adjoint.autograd.node import Node
from adjoint.compat.methods.autograd import FUNCTION_CTX, MUTATION_CONTEXT, NODE
from adjoint.compat.methods.constants import attach_constants
from adjoint.compat.methods.library import CUSTOM_OP
from adjoint.compat.methods.nn import (
    INSTANCE_NORM,
    LIST,
    MODULE,
    MODULE_REPLACED,
    RNN_BASE,
    SEQUENTIAL,
)
from adjoint.compat.methods.optim import OPTIMIZER
from adjoint.compat.methods.tensor import REPLACED, TENSOR
from adjoint.library.custom_op import CustomOpDef
from adjoint.nn.containers import ModuleList, ParameterList, Sequential
from adjoint.nn.layers.normalization import InstanceNorm
from adjoint.nn.layers.recurrent import RNNBase
from adjoint.nn.module import Module
from adjoint.ops.as_method import double
from adjoint.optim.optimizer import Optimizer
from adjoint.tensors.tensor import Tensor


def give(kind: Any, members: dict[str, Any], *, replacing: bool = False) -> None:
    """Give a class members: new ones, or all in place of those that it has."""
    for name, member in members.items():
        if hasattr(kind, name) is not replacing:
            state = "has no" if replacing else "has already a"
            raise TypeError(f"{kind.__name__} {state} member {name}, which compat gives it")
        if kind is Tensor and getattr(member, "__name__", name) != name:
            member = double(member, name)
        setattr(kind, name, member)


def attach() -> None:
    """Give each class its members."""
    give(Tensor, REPLACED, replacing=True)
    give(Tensor, TENSOR)
    give(Node, NODE)
    give(FunctionCtx, FUNCTION_CTX)
    give(MutationContext, MUTATION_CONTEXT)
    give(Module, MODULE_REPLACED, replacing=True)
    give(Module, MODULE)
    give(ModuleList, LIST)
    give(ParameterList, LIST)
    give(Sequential, SEQUENTIAL)
    give(InstanceNorm, INSTANCE_NORM)
    give(RNNBase, RNN_BASE)
    attach_constants()
    give(Optimizer, OPTIMIZER)
    give(CustomOpDef, CUSTOM_OP)
