"""Bloom."""
