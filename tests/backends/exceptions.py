"""What a backend can't do as NumPy does: the function's name, and why."""

JAX: dict[str, str] = {}
