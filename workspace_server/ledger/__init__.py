"""The durable record; the only package that knows SQL."""
