"""The content of a post: its text, pictures and poll, and their byte form in the caches."""
