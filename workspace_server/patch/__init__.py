"""Changing files: all of them or none."""
