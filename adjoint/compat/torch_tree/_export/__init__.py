"""torch._export: programs are not exported."""
