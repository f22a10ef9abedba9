"""torch.distributed.elastic.multiprocessing: what a launcher knows of its processes."""
