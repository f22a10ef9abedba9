"""The differences from PyTorch's operator database that stand, each with its reason.

Those of the first part are right, or a matter of taste; those of the second are not supported yet.
A test fails when one has gone, so that the list says what is.
"""

# A line is a record and the checks in which it differs.
_STANDING = {
    "which of equal elements comes first is not said; ours keep their order": """
        argsort: forward, method
        kthvalue: forward, method, out
        mode: forward, method, out, gradient
        msort: gradient
        sort: forward, method, out, gradient
        topk: forward, method, out, gradient
    """,
    "the other triangle is not read, and changing it changes nothing: its gradient is 0": """
        cholesky_inverse: gradient
        cholesky_solve: gradient
    """,
    "what is overwritten has the gradient 0, as finite differences say; PyTorch passes one on": """
        as_strided_scatter: gradient
    """,
    "a pole, where mpmath says infinity; PyTorch's sine of a multiple of pi is not quite 0": """
        polygamma/polygamma_n_0: forward, method, out
        polygamma/polygamma_n_1: forward, method, out
        polygamma/polygamma_n_2: forward, method, out
        polygamma/polygamma_n_3: forward, method, out
        polygamma/polygamma_n_4: forward, method, out
        special.polygamma/special_polygamma_n_0: forward, out
    """,
    "mpmath agrees with ours to 15 digits, with PyTorch's to 6": """
        special.bessel_j0: forward, out
        special.bessel_y1: forward, out
    """,
    "another branch of the complex logarithm, apart by a multiple of 2 pi i; of numbers near 10000 "
    "16 bits hold no differences, and both gradients are rounding": """
        logcumsumexp: forward, method, out, gradient
    """,
    "both are what rounding leaves of 0": """
        cov: second gradient
    """,
    "at 0 the second derivative does not exist; 0, a subgradient, for nan": """
        linalg.norm/subgradients_at_zero: second gradient
    """,
    "zeros for None: the input takes part, and does not count": """
        istft: gradient
        linalg.householder_product: gradient
    """,
    "on the border of two bins, after rounding to 16 or 32 bits": """
        histc: forward, method, out
        histogramdd: forward
    """,
    "weights of bytes are rounded from double precision; one pixel of 54 differs by 1": """
        nn.functional.interpolate/bicubic: forward
    """,
    "16-bit numbers are rounded at each of many steps, in another order": """
        grid_sampler_3d: gradient
        nn.functional.grid_sample: gradient
    """,
    "an out= that is resized gets memory of its own, so that nothing overlaps": """
        gather: error
    """,
    "what was written, for None": """
        split_with_sizes_copy: out
        unbind_copy: out
    """,
    "out= of a type that results can't be cast to is a RuntimeError, as it is elsewhere; PyTorch "
    "has another class here, or none": """
        bernoulli: out
        diff: out
        inner: out
        lu: out
        nanmean: out
        nansum: out
        normal: out
    """,
    "an empty out= is given the shape of the result, as it is elsewhere": """
        fft.ihfft2: out
        fft.ihfftn: out
        normal/number_mean: out
    """,
    "a dimension that there isn't is an IndexError, as it is elsewhere": """
        narrow_copy: error
    """,
    "a tuple as out= of a tuple of results is written into": """
        nonzero: out
    """,
}
_NOT_YET = {
    "not supported: complex numbers of 16 bits": """
        chalf: forward, missing
        complex: forward, missing
        view_as_complex: forward
    """,
    "not supported: linalg.ldl_*": """
        linalg.ldl_factor: missing
        linalg.ldl_factor_ex: missing
        linalg.ldl_solve: missing
    """,
    "not supported: a private function of PyTorch's, which adjoint does without": """
        _batch_norm_with_update: missing
        _chunk_cat: missing
        _native_batch_norm_legit: missing
        _segment_reduce/lengths: missing
        _segment_reduce/offsets: missing
        _softmax_backward_data: missing
        _unsafe_masked_index: missing
        _unsafe_masked_index_put_accumulate: missing
        _upsample_bilinear2d_aa: missing
        hash_tensor: missing
        max_pool2d_with_indices_backward: forward
        native_batch_norm: missing
        native_dropout_backward: missing
        slice: missing
        torch.ops.aten._safe_softmax.default: missing
    """,
}


def _listed() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for reason, lines in (_STANDING | _NOT_YET).items():
        for line in lines.strip().splitlines():
            record, _, checks = line.strip().partition(": ")
            for check in checks.split(", "):
                found.setdefault(record, {})[check] = reason
    return found


DIFFERENCES = _listed()
