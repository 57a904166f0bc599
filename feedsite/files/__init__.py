"""Storage and serving of uploaded pictures and static files."""
