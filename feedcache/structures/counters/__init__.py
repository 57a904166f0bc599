"""Counts of ids in Redis: `service`."""
