"""Random tensors and the generator behind them."""
