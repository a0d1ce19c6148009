"""The tools: what each takes, gives and does."""
