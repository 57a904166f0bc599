"""Everything about the cache servers besides reads and writes: topology, health, slots, flushes, broadcasts."""
