"""What a backend can't do as NumPy does: the function's name, and why."""

JAX: dict[str, str] = {
    "padded_targets": "lengths are not read, so there is room for all; ctc_loss is compared instead"
}

# What the device meta must refuse, in some samples at least, and why.
META: dict[str, str] = {
    **dict.fromkeys(
        ("argwhere", "nonzero", "nonzero_positions", "where"),
        "how many elements are not zero depends on values",
    ),
    **dict.fromkeys(
        ("getitem", "masked_select", "pick"), "how many a mask picks depends on values"
    ),
    **dict.fromkeys(
        ("index_put", "place", "setitem"), "the gradient of what a mask writes is what it picks"
    ),
    **dict.fromkeys(
        ("unique", "unique_all", "unique_consecutive", "unique_runs"),
        "how many elements differ depends on values",
    ),
    **dict.fromkeys(
        ("bincount", "one_hot", "repeat_interleave", "repeated_index"),
        "numbers in a tensor are a size of the result",
    ),
    **dict.fromkeys(
        ("equal_edges", "histogram", "histogramdd"), "edges lie between the extremes of values"
    ),
    **dict.fromkeys(("allclose", "equal", "is_nonzero"), "the result is a bool of Python"),
    "transfer": "there are no values to move",
}

# Whose results have a size that depends on values, and are as large as they may be on meta.
META_ROOMY = {"bag_places": "bags", "padded_targets": "targets"}

# Whose gradients NumPy lays out in an order that an index array or einsum leaves open.
META_STRIDES = {"einsum", "index_add", "index_copy", "place"}
