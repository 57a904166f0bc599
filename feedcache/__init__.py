"""A cache library for feeds: clients for Memcached in tiers and for Redis, and data structures of ids and bytes.

See README.md in this folder. A failure of Memcached is a miss, never an error. Functions that raise RedisError when
Redis fails say so.
"""
