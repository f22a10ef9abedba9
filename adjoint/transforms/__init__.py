"""How calls are made inside transforms: over a batch, and with tangents."""
