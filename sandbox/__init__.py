"""Run commands and keep them: Linux, synchronous, light to start."""
