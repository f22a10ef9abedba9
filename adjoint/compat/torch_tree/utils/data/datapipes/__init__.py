"""torch.utils.data.datapipes: datasets that are made of one another."""
