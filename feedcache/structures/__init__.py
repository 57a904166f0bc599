"""Data structures in caches.

home_window   the newest ids of many timelines, in Redis, with a script that merges and prunes
id_vector     the newest ids of an author, as bytes that grow by appending
newest_ids    the newest ids that an account marked, and the id from which on they are complete
list_prefix   the newest entries of a long list
longset       sets of ids in Redis, such as the accounts that somebody follows, mutes or blocks
week_bucket   contents by week, in hashes of Redis
counters      small counts per id, in Redis in front of PostgreSQL
bloom         Bloom filters, which can prove that something was never done
rate_limit    exact rate limits
restore       replaces large values in Redis without blocking it

They handle only ids and bytes; the apps decide, mostly in their `cache` modules, which structures and keys they use.
`id_vector` and `newest_ids` only compute; all others use Redis.
"""
