"""The tiers of Memcached: L1, Main and Backup, from the bytes on the wire (`wire`) up to reads and writes of many keys (`tiers`).

Whoever wants a value asks `feedcache.read_through`, which loads and stores what is missing here.
"""
