"""torch.utils.deterministic: a setting that is remembered, and changes nothing."""

fill_uninitialized_memory = True
