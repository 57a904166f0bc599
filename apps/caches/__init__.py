"""The cache infrastructure: clients, and structures that know ids and bytes, nothing else.

servers      the only module that imports redis and pymemcache; connections from the settings
readthrough  ask the cache for many, load what is missing, store it
window       a contiguous newest window of ids per reader, in Redis
counters     several counts per id in packed records in Redis
ratelimit    exact limits in Redis

A failure of a cache is a miss, never an error: every function here says what its miss looks like.
What an app keeps in caches is declared in that app's `cache.py`.
"""
