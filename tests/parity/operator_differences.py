"""The differences from PyTorch's databases that stand, each with its reason.

A test fails when one has gone, so that the list says what is.
"""

# A line is a record and the checks in which it differs.
_STANDING = {
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
    "at 0 the second derivative does not exist; 0, a subgradient, for nan": """
        linalg.norm/subgradients_at_zero: second gradient
    """,
    "an out= that is resized gets memory of its own, so that nothing overlaps": """
        gather: error
    """,
    "an empty out= is given the shape of the result, as it is elsewhere": """
        fft.ihfft2: out
        fft.ihfftn: out
    """,
    "the first gradient reaches the parameter through the momentum too, as finite differences say; "
    "PyTorch cuts it off": """
        optim.SGD: differentiable
    """,
}


def _listed() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for reason, lines in _STANDING.items():
        for line in lines.strip().splitlines():
            record, _, checks = line.strip().partition(": ")
            for check in checks.split(", "):
                found.setdefault(record, {})[check] = reason
    return found


DIFFERENCES = _listed()
