"""Faults injected into many graphs at every event there is; CONTRIBUTING.md says how to run it."""
