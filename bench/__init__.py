"""What a call costs: this server beside the bare SDK and the bare system, in one run."""
