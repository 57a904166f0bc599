"""The tiers of Memcached: L1, Main and Backup, from the bytes on the wire (`protocol`) up to many keys at once (`tiers`).

Apps use `feedcache.read_through`, which loads and stores missing values.
"""
