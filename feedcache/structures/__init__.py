"""Data structures in caches: home windows, id vectors, longsets, list prefixes, week buckets, counters, Bloom filters.

They know ids and bytes only: an app's `cache` module says which structure it uses, under which keys. `id_vector` is
pure; all others talk to Redis.
"""
