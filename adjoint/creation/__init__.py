"""New tensors: from data, from others' memory, filled with numbers."""
