"""Decompositions, solvers and norms of matrices, all batched."""
