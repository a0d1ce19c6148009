"""Commands as this server sees them: intent, dispatch, status, output, end."""
