"""Bloom filters in Redis."""
