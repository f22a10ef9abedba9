"""Products: matmul and its relatives, einsum, tensordot."""
