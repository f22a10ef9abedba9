"""Order: sort, topk, median, unique, quantiles, search."""
