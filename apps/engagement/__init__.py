"""What readers do with a post: like and bookmark it."""
