"""Copies and conversions: clone, to, contiguous, data types."""
