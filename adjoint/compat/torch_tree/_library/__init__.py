"""torch._library: how operators are found."""
