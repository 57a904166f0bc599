"""What the cache servers need beside reads and writes: news of the topology, health, slots, flushes, broadcasts."""
