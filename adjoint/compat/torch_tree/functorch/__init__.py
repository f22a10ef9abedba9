"""functorch: names that it has beside torch.func's."""
