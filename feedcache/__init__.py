"""A cache library for feeds: clients for Memcached in tiers and for Redis, and data structures of ids and bytes.

See README.md in this folder. A failure of a cache is a miss, never an error. Every function documents when it reports a
miss.
"""
