"""Ops that make fewer elements of many, or put them in order."""
