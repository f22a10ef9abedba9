"""Ops on signals."""
