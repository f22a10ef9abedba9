"""torch.backends.cpu: what the processor can do, as far as PyTorch would use it."""


def get_cpu_capability() -> str:
    """Nothing special: NumPy chooses its instructions itself."""
    return "DEFAULT"
