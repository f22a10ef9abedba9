"""Ops whose results depend on the elements at their own place."""
