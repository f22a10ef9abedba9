"""Activations: relu and its relatives."""
