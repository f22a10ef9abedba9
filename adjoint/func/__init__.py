"""Transformations of functions, and modules as functions of their parameters."""

from adjoint.func.stateless import (
    functional_call as functional_call,
    stack_module_state as stack_module_state,
)
