"""All work on the cache servers except reads and writes: topology, health, slots, flushes, broadcasts."""
