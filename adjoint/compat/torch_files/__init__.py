"""Files that PyTorch saves: their form, and pickles that can do no harm."""
