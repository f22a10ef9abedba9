"""torch.distributions: private names that packages built on it import."""
