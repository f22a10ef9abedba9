"""torch._functorch: where programs reach for what `func` is made of."""
