"""Data structures in the caches: home windows, id vectors, longsets, list prefixes, week buckets, counters, Bloom filters.

They know ids and bytes only: an app's `cache` module says which structure it uses, under which keys. `id_vector`,
`bloom.arithmetic` and `restore_payload` are pure; all others talk to Redis.
"""
