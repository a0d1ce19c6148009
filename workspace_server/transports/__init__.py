"""Ways in: what turns a wire into calls on the gateway."""
