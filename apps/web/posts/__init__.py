"""Pages to write posts and to react to them."""
