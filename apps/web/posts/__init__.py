"""Pages to write posts, to show one with its thread, and to react to it."""
