"""Storage and serving of uploaded files and static files."""
