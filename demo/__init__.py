"""A coding agent's day in a minute: a real project, a real client, real crashes, all checked."""
