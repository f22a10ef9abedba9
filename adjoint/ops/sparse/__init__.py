"""Sparse tensors: which elements are kept, how calls on them are answered, what makes them."""
