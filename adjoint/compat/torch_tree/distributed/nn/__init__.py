"""torch.distributed.nn: exchanges that gradients pass through."""
