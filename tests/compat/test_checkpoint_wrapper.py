"""Modules wrapped to be checkpointed: PyTorch's names, state dicts and gradients."""

import importlib

import pytest

import adjoint.compat.torch as compat

PATH = "distributed.algorithms._checkpoint.checkpoint_wrapper"


def answers(library, wrappers, implementation):
    """What a model with wrapped layers has and answers."""
    nn, seen = library.nn, []

    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(2, 2)

        def forward(self, x, scale=1.0):
            seen.append(scale)
            return self.linear(x).tanh() * scale

    model = nn.Sequential(Scaled(), nn.Sequential(nn.Linear(2, 1)))
    with library.no_grad():
        for parameter in model.parameters():
            parameter.fill_(0.3)
    plain = model.state_dict()
    wrapping = lambda module: wrappers.checkpoint_wrapper(module, implementation)
    wrappers.apply_activation_checkpointing(
        model, wrapping, lambda module: isinstance(module, (Scaled, nn.Linear))
    )
    x = library.ones(1, 2, requires_grad=True)
    loss = model[1](model[0](x, scale=2.0)).sum()
    loss.backward()
    matched = str(model.load_state_dict(plain))
    names = [name for name, _ in model.named_parameters()]
    gradients = [parameter.grad.tolist() for parameter in model.parameters()]
    looks = repr(model).replace("test_checkpoint_wrapper.", "")
    return [list(model.state_dict()), names, matched, loss.item(), gradients, looks, seen]


@pytest.mark.parametrize("name", ["REENTRANT", "NO_REENTRANT"])
def test_wrapped_layers(name, torch):
    found = []
    for library, root in ((compat, "adjoint.compat.torch"), (torch, "torch")):
        wrappers = importlib.import_module(f"{root}.{PATH}")
        found.append(answers(library, wrappers, getattr(wrappers.CheckpointImpl, name)))
    assert found[0][-1] == found[1][-1] == [2.0, 2.0]  # computed twice
    assert found[0][:3] == found[1][:3] and found[0][5] == found[1][5]
    assert found[0][3] == pytest.approx(found[1][3])
    for own, wanted in zip(found[0][4], found[1][4], strict=True):
        assert compat.allclose(compat.tensor(own), compat.tensor(wanted))


def test_elements_and_attributes_are_the_module_s():
    wrappers = importlib.import_module(f"adjoint.compat.torch.{PATH}")
    inner = compat.nn.Sequential(compat.nn.Linear(2, 2))
    for wrapped in (wrappers.checkpoint_wrapper(inner), wrappers.offload_wrapper(inner)):
        assert wrapped[0] is inner[0] and wrapped.append == inner.append
        assert wrapped(compat.ones(1, 2)).requires_grad
        with pytest.raises(AttributeError, match="colour"):
            getattr(wrapped, "colour")  # noqa: B009  # which is not there
