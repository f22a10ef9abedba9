"""torch.distributed.elastic: processes begun anew when one fails; there is no launcher."""
