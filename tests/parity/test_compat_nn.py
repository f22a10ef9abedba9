"""Old, private and less known parts of torch.nn, answered by adjoint.compat, against PyTorch."""

import warnings

import pytest

import adjoint.compat.torch as compat

torch = pytest.importorskip("torch")
pytest.importorskip("torch.nn.utils.prune")  # which torch.nn.utils does not import


def plain(value):
    """A value that can be compared between libraries."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(element) for element in value]
    return value


def outcome(action):
    """What an action answers, or the type of what it raises."""
    try:
        return plain(action())
    except Exception as error:
        return type(error).__name__


def both(scenario):
    """A scenario answers the same in both libraries."""
    mine, theirs = outcome(lambda: scenario(compat)), outcome(lambda: scenario(torch))
    assert mine == theirs


def counted(lib, *shape, dtype=None):
    """Numbers that differ, not too large."""
    count = 1
    for size in shape:
        count *= size
    return (lib.arange(count, dtype=dtype or lib.float64) * 0.7 % 3 - 1).reshape(shape)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("options", [{}, {"stride": 2, "padding": 1}, {"dilation": 2, "groups": 2}])
def test_gradients_of_convolutions_as_functions(dims, options):
    def scenario(lib):
        grads = lib.nn.grad
        sizes = (2, 4, *(6,) * dims)
        weight = counted(lib, 4, 4 // options.get("groups", 1), *(2,) * dims)
        input = counted(lib, *sizes)
        out = getattr(lib.nn.functional, f"conv{dims}d")(input, weight, **options)
        grad = counted(lib, *out.shape)
        of_input = getattr(grads, f"conv{dims}d_input")(input.shape, weight, grad, **options)
        of_weight = getattr(grads, f"conv{dims}d_weight")(input, weight.shape, grad, **options)
        return [of_input.round(decimals=8), of_weight.round(decimals=8)]

    both(scenario)


@pytest.mark.parametrize("prefix", ["module.", "other."])
def test_prefixes_of_state_dicts(prefix):
    def scenario(lib):
        state = lib.nn.Sequential(lib.nn.Linear(1, 1)).state_dict(prefix="module.")
        lib.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, prefix)
        return [list(state), sorted(state._metadata)]

    both(scenario)


def test_sizes_as_tuples():
    def scenario(lib):
        sizes = lib.nn.modules.utils
        return [
            sizes._single(3),
            sizes._pair([1, 2]),
            sizes._triple(4),
            sizes._quadruple(5),
            sizes._pair.__name__,
            sizes._reverse_repeat_tuple((1, 2), 2),
            sizes._list_with_default([None, 3], [5, 6, 7]),
            sizes._list_with_default(3, [5]),
            outcome(lambda: sizes._list_with_default([1, None], [5, 6])),
        ]

    both(scenario)


@pytest.mark.parametrize("amount", [0, 10, 1, 1.0, 0.4, 0.5, 20, -1, 1.5, "half"])
def test_amounts_of_pruning(amount):
    def scenario(lib):
        prune = lib.nn.utils.prune
        return [
            outcome(lambda: prune._validate_pruning_amount_init(amount)),
            outcome(lambda: prune._validate_pruning_amount(amount, 17)),
            outcome(lambda: prune._compute_nparams_toprune(amount, 17)),
        ]

    if amount in (20, -1, 1.5, "half"):  # where PyTorch counts what it has refused before
        with pytest.raises((TypeError, ValueError)):
            compat.nn.utils.prune._compute_nparams_toprune(amount, 17)
        return
    both(scenario)


def test_weights_of_recurrent_layers_in_a_row():
    def scenario(lib):
        layer = lib.nn.LSTM(2, 3, num_layers=2, bidirectional=True, bias=False, proj_size=1)
        shapes = [list(weight.shape) for weight in layer._flat_weights]
        lib.nn.utils.prune.l1_unstructured(layer, "weight_ih_l0", 0.5)
        kinds = [isinstance(weight, lib.nn.Parameter) for weight in layer._flat_weights]
        return [shapes, kinds, layer._flat_weights_names, layer._all_weights]

    both(scenario)


@pytest.mark.parametrize("name", ["normal", "constant", "kaiming_uniform", "orthogonal"])
def test_old_names_of_fillings_warn(name):
    def scenario(lib):
        arguments = (3.0,) if name == "constant" else ()
        filled = lib.ones(2, 2)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            same = getattr(lib.nn.init, name)(filled, *arguments) is filled
        function = getattr(lib.nn.init, name)
        return [same, function.__name__, [warning.category.__name__ for warning in caught]]

    both(scenario)


def test_fans():
    def scenario(lib):
        weight = lib.zeros(4, 3, 2)
        init = lib.nn.init
        return [
            init._calculate_fan_in_and_fan_out(weight),
            init._calculate_correct_fan(weight, "fan_out"),
            outcome(lambda: init._calculate_correct_fan(weight, "fan")),
        ]

    both(scenario)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_truncated_normals_in_half_precision_stay_off_the_ends(kind):
    drawn = compat.empty(20000, dtype=getattr(compat, kind))
    compat.nn.init.trunc_normal_(drawn, std=0.1)
    assert int((drawn.abs() > 1).sum()) == 0
    narrow = compat.empty(20000, dtype=getattr(compat, kind))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compat.nn.init.trunc_normal_(narrow, -3.0, 1.0, -0.5, 0.5)
    # Three deviations off, four in five lie in the lower half.
    assert int((narrow.float() < 0).sum()) > 15000


def test_memory_of_lazy_modules_is_not_shared():
    def scenario(lib):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            layer = lib.nn.LazyLinear(2)
        refused = outcome(layer.share_memory)
        layer(lib.ones(1, 3))
        return [refused, layer.share_memory() is layer]

    both(scenario)


@pytest.mark.parametrize(
    "name", ["double", "float", "half", "long", "int", "short", "char", "byte"]
)
def test_packed_sequences_are_converted(name):
    def scenario(lib):
        rnn = lib.nn.utils.rnn
        packed = rnn.pack_sequence([lib.tensor([1, 2, 3]), lib.tensor([4])])
        made = getattr(packed, name)()
        return [str(made.data.dtype).split(".")[-1], made.data, made.batch_sizes]

    both(scenario)


@pytest.mark.parametrize("shape", [(0, 0), (3, 2, 0), (3, 0, 2)])
def test_nothing_can_be_packed(shape):
    def scenario(lib):
        rnn = lib.nn.utils.rnn
        return rnn.pack_padded_sequence(lib.zeros(shape), [3] * shape[1])

    both(scenario)


def test_packed_sequences_without_steps_cannot_be_padded():
    def scenario(lib):
        rnn = lib.nn.utils.rnn
        nothing = rnn.PackedSequence(lib.zeros(0, 5), lib.tensor([], dtype=lib.int64))
        return [outcome(lambda: rnn.pad_packed_sequence(nothing))]

    both(scenario)


def test_gradients_under_their_private_name():
    def scenario(lib):
        weight = lib.ones(2, requires_grad=True)
        weight._grad = lib.tensor([1.0, 2.0])
        return [weight.grad, weight._grad is weight.grad]

    both(scenario)


@pytest.mark.parametrize("arguments", [(5, (2, 2)), (2, 5, (2, 2)), (5,), (2, 5), (2,)])
def test_bounds_of_random_integers(arguments):
    def scenario(lib):
        options = {} if isinstance(arguments[-1], tuple) else {"size": (300,)}
        if arguments == (2,):
            options["high"] = 5
            given = lib.randint(low=2, **options)
        else:
            given = lib.randint(*arguments, **options)
        bounds = (int(given.min()), int(given.max())) if given.numel() > 10 else None
        return [list(given.shape), bounds]

    both(scenario)


@pytest.mark.parametrize("kind", ["uint8", "int8", "int16", "int32", "int64", "float32"])
def test_embeddings_of_integers(kind):
    def scenario(lib):
        rows = lib.tensor([[1, 2], [3, 4]], dtype=getattr(lib, kind))
        layer = lib.nn.Embedding.from_pretrained(rows)
        out = layer(lib.tensor([1, 0]))
        return [out, str(out.dtype).split(".")[-1], layer.weight.requires_grad]

    both(scenario)


def test_gradients_of_padding_are_left_out_even_if_they_are_nan():
    def scenario(lib):
        weight = lib.ones(3, 2, requires_grad=True)
        out = lib.nn.functional.embedding(lib.tensor([0, 1, 2]), weight, padding_idx=1)
        out.backward(lib.tensor([[1.0, 2.0], [float("nan")] * 2, [3.0, 4.0]]))
        return weight.grad

    both(scenario)


@pytest.mark.parametrize("padding", [-5, -4, 3, 4])
@pytest.mark.parametrize("name", ["embedding", "embedding_bag"])
def test_padding_beyond_the_rows(name, padding):
    def scenario(lib):
        function = getattr(lib.nn.functional, name)
        return list(function(lib.tensor([[0, 1]]), lib.ones(4, 2), padding_idx=padding).shape)

    both(scenario)


@pytest.mark.parametrize("shape", [(2, 3, 3), (3, 3, 3), (2, 3, 4), (3, 3), (2, 3)])
@pytest.mark.parametrize("batched", [False, True])
def test_shapes_of_attention_masks(shape, batched):
    def scenario(lib):
        layer = lib.nn.MultiheadAttention(4, 2)
        query = lib.ones((3, 1, 4) if batched else (3, 4))
        out, _ = layer(query, query, query, attn_mask=lib.zeros(shape))
        return list(out.shape)

    both(scenario)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("name", ["InstanceNorm1d", "InstanceNorm3d"])
def test_channels_of_instance_norm(name, affine):
    def scenario(lib):
        layer = getattr(lib.nn, name)(4, affine=affine)
        size = [2] * layer._get_no_batch_dim()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            shape = outcome(lambda: list(layer(lib.ones(size)).shape))
        return [size, shape, [warning.category.__name__ for warning in caught]]

    both(scenario)


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_steps_are_differentiated_by_their_weight_decay(name):
    def scenario(lib):
        weight = lib.tensor([1.0, 2.0], dtype=lib.float64, requires_grad=True)
        decay = lib.tensor(0.3, dtype=lib.float64, requires_grad=True)
        moved = weight.clone()
        options = {"lr": 0.1, "weight_decay": decay, "differentiable": True}
        optimizer = getattr(lib.optim, name)([moved], **options)
        for _ in range(2):
            moved.grad = lib.tensor([0.5, -1.0], dtype=lib.float64)
            optimizer.step()
        grads = lib.autograd.grad(moved.sum(), [weight, decay])
        return [grad.mul(1e5).round() for grad in grads]  # PyTorch counts steps in float32

    both(scenario)


@pytest.mark.parametrize("size", [(5, 9), (12, 3), (8, 11), (1, 1)])
@pytest.mark.parametrize(
    ("mode", "align"),
    [("bilinear", False), ("bilinear", True), ("bicubic", False), ("bicubic", True)],
)
@pytest.mark.parametrize("options", [{}, {"antialias": True}])
def test_images_in_other_sizes(mode, align, size, options):
    def scenario(lib):
        images = counted(lib, 2, 3, 8, 11).requires_grad_()
        resized = lib.nn.functional.interpolate(
            images, size, mode=mode, align_corners=align, **options
        )
        resized.backward(counted(lib, *resized.shape))
        return [resized.detach().round(decimals=8), images.grad.round(decimals=8)]

    both(scenario)


def test_lanczos():
    def scenario(lib):
        resize = lib.nn.functional.interpolate
        images = counted(lib, 1, 2, 9, 7)
        options = {"mode": "lanczos", "antialias": True}
        return [
            resize(images, (4, 12), **options).round(decimals=8),
            resize(images, scale_factor=(0.4, 1.5), **options).round(decimals=8),
            outcome(lambda: resize(images, (4, 4), mode="lanczos")),
            outcome(lambda: resize(images, (4, 4), align_corners=True, **options)),
            outcome(lambda: resize(images[0], 4, **options)),
            outcome(lambda: resize(images, (4, 4), mode="nearest", antialias=True)),
        ]

    both(scenario)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic", "area"])
@pytest.mark.parametrize("kind", ["uint8", "int16", "int64", "float64"])
def test_images_of_integers_in_other_sizes(mode, kind):
    def scenario(lib):
        images = (lib.arange(36) * 37 % 256).reshape(1, 1, 6, 6).to(getattr(lib, kind))
        resized = lib.nn.functional.interpolate(images, (4, 9), mode=mode)
        found = [str(resized.dtype).split(".")[-1], list(resized.shape)]
        if kind == "uint8" and mode.startswith("bi"):
            return found  # PyTorch rounds after each dimension, and so is off by a little
        return [*found, resized.double().round(decimals=4)]

    both(scenario)


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_bytes_of_images_are_rounded_and_kept_within_bounds(mode, antialias):
    def scenario(lib):
        images = (lib.arange(64) * 37 % 256).reshape(1, 1, 8, 8).to(lib.uint8)
        return [lib.nn.functional.interpolate(images, (5, 11), mode=mode, antialias=antialias)]

    both(scenario)


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_resized_images_keep_their_channels_last(mode):
    def scenario(lib):
        images = counted(lib, 2, 3, 8, 11).contiguous(memory_format=lib.channels_last)
        resized = lib.nn.functional.interpolate(images, (5, 4), mode=mode)
        last = resized.is_contiguous(memory_format=lib.channels_last)
        return [last, resized.is_contiguous(), resized.round(decimals=8)]

    both(scenario)


@pytest.mark.parametrize("place", [-1, 0, 15, 16])
def test_places_of_unpooled_elements(place):
    def scenario(lib):
        places = lib.tensor([[[[place, 2], [5, 7]]]])
        return lib.nn.functional.max_unpool2d(counted(lib, 1, 1, 2, 2), places, 2)

    both(scenario)


@pytest.mark.parametrize("kind", ["Max", "Avg"])
@pytest.mark.parametrize("dtype", ["int64", "uint8", "float32"])
def test_adaptive_pools_of_integers(kind, dtype):
    def scenario(lib):
        images = lib.ones(1, 4, 4, dtype=getattr(lib, dtype))
        return getattr(lib.nn, f"Adaptive{kind}Pool2d")(2)(images)

    both(scenario)


@pytest.mark.parametrize("shape", [(2, 3, 2), (3, 3, 2), (1, 3, 2), (2, 1, 2), (2, 3, 3), (3, 2)])
def test_samples_of_fractional_pools(shape):
    def scenario(lib):
        pool = lib.nn.functional.fractional_max_pool2d
        samples = lib.full(shape, 0.3, dtype=lib.float64)
        return pool(counted(lib, 2, 3, 8, 8), 2, output_size=3, _random_samples=samples)

    both(scenario)


@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_samples_of_fractional_pools_are_of_the_images_type(rank, dtype):
    def scenario(lib):
        pool = getattr(lib.nn.functional, f"fractional_max_pool{rank}d")
        images = lib.ones(2, 3, *[8] * rank, dtype=getattr(lib, dtype))
        return pool(images, 2, output_size=4, _random_samples=lib.full((2, 3, rank), 0.3))

    both(scenario)


def test_fractional_pools_of_nothing_and_kernels_of_the_wrong_size():
    def scenario(lib):
        pool = lib.nn.functional.fractional_max_pool2d
        images = counted(lib, 1, 3, 8, 8)
        return [
            list(pool(lib.ones(0, 3, 8, 8), 2, output_size=3).shape),
            outcome(lambda: pool(images, (), output_size=3)),
            outcome(lambda: pool(images, (1,), output_size=3)),
            outcome(lambda: lib.nn.FractionalMaxPool3d(0, output_size=2)),
        ]

    both(scenario)


@pytest.mark.parametrize(
    ("shape", "groups"),
    [
        ((1, 10, 1), 10),
        ((1, 10), 10),
        ((2, 10, 1), 10),
        ((1, 10, 2), 10),
        ((1, 4), 2),
        ((2, 5), 10),
    ],
)
def test_groups_of_one_value(shape, groups):
    def scenario(lib):
        return list(lib.nn.functional.group_norm(counted(lib, *shape), groups).shape)

    both(scenario)


@pytest.mark.parametrize("kind", ["RNNCell", "GRUCell", "LSTMCell"])
@pytest.mark.parametrize(
    ("input", "state"),
    [((3, 2), (3, 4)), ((3, 2), (1, 4)), ((3, 2), (3, 1)), ((3, 1), (3, 4)), ((2,), (4,))],
)
def test_cells_do_not_broadcast(kind, input, state):
    def scenario(lib):
        hidden = lib.zeros(state)
        given = (hidden, hidden) if kind == "LSTMCell" else hidden
        out = getattr(lib.nn, kind)(2, 4)(lib.ones(input), given)
        return list((out[0] if kind == "LSTMCell" else out).shape)

    both(scenario)


def test_what_is_like_a_tensor_may_be_a_buffer():
    def scenario(lib):
        class Like:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return NotImplemented

        module = lib.nn.Module()
        first, second = Like(), Like()
        module.register_buffer("kept", first)
        found = [module.kept is first]
        module.kept = second
        refused = outcome(lambda: module.register_buffer("other", object()))
        return [*found, module.get_buffer("kept") is second, refused]

    both(scenario)


@pytest.mark.parametrize(
    "bounds", [(float("inf"), 0.3), (0.1, float("nan")), (0.5, 0.1), (0.1, 0.3)]
)
def test_bounds_of_random_slopes(bounds):
    def scenario(lib):
        return list(lib.nn.functional.rrelu(lib.ones(2), *bounds).shape)

    both(scenario)


def test_layers_of_nothing():
    def scenario(lib):
        return [outcome(lambda: lib.nn.Conv2d(1, 1, 1)(None))]

    both(scenario)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    "function",
    [
        lambda lib, images: lib.nn.functional.avg_pool2d(images, 3, 2, 1),
        lambda lib, images: lib.nn.functional.adaptive_avg_pool2d(images, (2, 4)),
        lambda lib, images: lib.nn.functional.interpolate(images, (5, 14), mode="bilinear"),
    ],
    ids=["avg_pool2d", "adaptive_avg_pool2d", "interpolate"],
)
def test_means_in_half_precision_are_rounded_once(kind, function):
    images = counted(compat, 2, 4, 9, 9).to(getattr(compat, kind))
    exact = function(compat, images.double())
    near = exact.to(images.dtype).double()
    unit = {"float16": 2.0**-10, "bfloat16": 2.0**-7}[kind]
    off = (function(compat, images).double() - near).abs() / (near.abs() + 1e-3)
    assert float(off.max()) <= unit


@pytest.mark.parametrize(
    "kinds", [("int32", "float32"), ("int32", "int32"), ("float16", "float64")]
)
def test_types_of_angles(kinds):
    def scenario(lib):
        one, other = (lib.ones(2, 3, dtype=getattr(lib, kind)) for kind in kinds)
        found = lib.nn.functional.cosine_similarity(one, other)
        single = lib.nn.functional.cosine_similarity(one[0, 0], other)
        return [str(found.dtype).split(".")[-1], str(single.dtype).split(".")[-1]]

    both(scenario)


def test_angles_refuse_a_negative_bound():
    def scenario(lib):
        return lib.nn.functional.cosine_similarity(lib.ones(2, 3), lib.ones(2, 3), eps=-1.0)

    both(scenario)


@pytest.mark.parametrize("shape", [(0, 1, 2, 2), (1, 1, 0, 2), (1, 0, 2, 2), (2, 1, 2, 3)])
@pytest.mark.parametrize("rows", [0, 3])
def test_grids_over_nothing(shape, rows):
    def scenario(lib):
        grid = lib.zeros(shape[0], rows, 3, 2)
        sampled = lib.nn.functional.grid_sample(lib.ones(shape), grid, align_corners=False)
        return list(sampled.shape)

    both(scenario)


def test_modules_are_converted_in_place_only():
    def scenario(lib):
        module = lib.nn.Linear(1, 1)
        return [
            outcome(lambda: module.to("cpu", copy=True)),
            module.to("cpu") is module,
        ]

    both(scenario)


def test_private_operations():
    def scenario(lib):
        values = lib.tensor([-2.0, 1.0])
        changed = values.clone()
        lib._VF._add_relu_(changed, 1)
        shuffled = lib.native_channel_shuffle(counted(lib, 1, 4, 1, 2), 2)
        return [
            lib._VF._add_relu(values, 1),
            lib._add_relu(values, values, alpha=2),
            changed,
            shuffled,
        ]

    both(scenario)


def test_random_slopes_in_place_have_gradients():
    weight = compat.tensor([-1.0, 2.0], requires_grad=True)
    changed = weight * 1
    same = compat.nn.functional.rrelu(changed, training=True, inplace=True)
    assert same is changed
    same.sum().backward()
    assert 1 / 8 <= float(weight.grad[0]) <= 1 / 3
    assert float(same[0].detach()) == -float(weight.grad[0])
    assert float(weight.grad[1]) == 1


def test_ratios_of_fractional_pools():
    def scenario(lib):
        pool = lib.nn.functional.fractional_max_pool2d
        images = counted(lib, 1, 1, 8, 8)
        return [
            outcome(lambda: pool(images, 2, output_ratio=(0.5, 0.5, 0.5))),
            list(pool(images, 2, output_ratio=(0.5, 0.25)).shape),
        ]

    both(scenario)


def test_linear_layers_refuse_single_numbers():
    def scenario(lib):
        return [outcome(lambda: lib.nn.Linear(1, 1)(lib.tensor(1.0)))]

    both(scenario)
