"""Everything about the cache servers beside reads and writes: topology, health, slots, flushes, broadcasts."""
