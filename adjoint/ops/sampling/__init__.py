"""Ops that draw from chance."""
