"""What a post says: its text, pictures and poll, and the bytes of it in the caches."""
