"""Pages that write posts and react to them."""
