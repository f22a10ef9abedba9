"""Ops that show, move, read or write elements, and leave them as they are."""
