"""What a call's arguments become before the op sees them: dimensions, and rules by name."""

import pytest

import adjoint
from adjoint.autograd.forward_rules import jvp
from adjoint.call.context import change
from adjoint.call.rule import ALIGN, FOLD, FRONT, LEAD, LOOP, MATRICES, TANGENT
from adjoint.ops.op import TABLE, general


def leaf(*sizes):
    return adjoint.rand(*sizes).requires_grad_()


# A call, and the dimensions that its node keeps: whatever the user wrote, counted from the end.
CALLS = {
    "sum": (lambda x: x.sum(0), {"dim": -3}),
    "sum of several": (lambda x: x.sum((0, -1)), {"dim": (-3, -1)}),
    "from the end": (lambda x: x.sum(-2), {"dim": -2}),
    "all": (lambda x: x.sum(), {"dim": None}),
    "by keyword": (lambda x: x.softmax(dim=1), {"dim": -2}),
    "transpose": (lambda x: x.transpose(0, 2), {"dim0": -3, "dim1": -1}),
    "permute": (lambda x: x.permute(2, 0, 1), {"dims": (-1, -3, -2)}),
    "cumsum": (lambda x: x.cumsum(1), {"dim": -2}),
    "select": (lambda x: x.select(1, 0), {"dim": -2}),
    "unsqueeze counts what it makes": (lambda x: x.unsqueeze(0), {"dim": -4}),
    "stack too": (lambda x: adjoint.stack([x, x]), {"dim": -4}),
    "cat": (lambda x: adjoint.cat([x, x], 1), {"dim": -2}),
}


@pytest.mark.parametrize("name", CALLS)
def test_dimensions_are_kept_counted_from_the_end(name):
    call, expected = CALLS[name]
    node = call(leaf(2, 3, 4)).grad_fn
    kept = {parameter: node.kept(node.op.index_of[parameter]) for parameter in expected}
    assert kept == expected


def test_who_watches_sees_dimensions_as_they_were_given():
    seen = []

    def watch(op, values):
        seen.append(op.spelled(values)[0][1:])
        return op.run(values)

    change(watchers=(watch,))
    try:
        leaf(2, 3, 4).sum(1)
    finally:
        change(watchers=())
    assert seen == [(1,)]


@pytest.mark.parametrize("dim", [3, -4, (0, 3)])
def test_a_dimension_that_there_is_not_is_refused(dim):
    with pytest.raises(IndexError, match="out of range"):
        leaf(2, 3, 4).sum(dim)


def test_a_single_number_has_dimension_zero():
    assert adjoint.tensor(3.0).sum(0).item() == 3.0


WAYS = (ALIGN, LEAD, FRONT, FOLD, MATRICES, LOOP)


def test_every_op_says_how_it_takes_a_batch():
    for op in TABLE.values():
        assert op.vmap is not None or op.batching in WAYS
        assert op.family != "elementwise" or op.batching == ALIGN


class TestRulesByName:
    """jvp= and vmap= read their parameters as derivatives do."""

    @pytest.fixture
    def declare(self):
        made = []

        def declare(**options):
            def forward(xp, input, factor):
                return xp.multiply(input, factor)

            op = general(name=f"named_{len(made)}", method=False, **options)(forward)
            made.append(op.name)
            return op

        yield declare
        for name in made:
            del TABLE[name]

    def test_a_tangent_the_arguments_and_the_result(self, declare):
        seen = []

        def push(input_tangent, factor, result, factor_tangent):
            seen.append((factor, result.tolist(), factor_tangent))
            return input_tangent * factor

        op = declare(input=lambda grad, factor: grad * factor, jvp=push)
        tangent = jvp(op, [adjoint.tensor([1.0, 2.0]), 3.0], [adjoint.tensor([1.0, 10.0]), None])
        assert tangent.tolist() == [3.0, 30.0]
        assert seen == [(3.0, [3.0, 6.0], None)]

    def test_a_rule_over_batches(self, declare):
        op = declare(vmap=lambda input, input_batched, factor: input * factor)
        assert [kind for kind, _ in op.vmap.sources].count(TANGENT) == 0
        assert len(op.vmap.sources) == 3

    def test_a_name_that_means_nothing(self, declare):
        with pytest.raises(TypeError, match="asks for 'other_tangent'"):
            declare(jvp=lambda other_tangent: other_tangent)
