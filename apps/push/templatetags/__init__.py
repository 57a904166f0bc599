"""How figures of caches are written."""
