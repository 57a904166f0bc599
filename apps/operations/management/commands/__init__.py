"""Commands of the topology app."""
