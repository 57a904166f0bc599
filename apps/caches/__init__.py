"""The cache infrastructure: clients, and structures that know ids and bytes, nothing else.

servers      connections from the settings; with redisclients the only module that imports redis and pymemcache
redisclients several commands in one trip; a Redis Cluster; `replicas`, `slots`: beyond one server
topology     which Memcached nodes there are, as a value; pure
listener     the topology this process uses, kept up to date by a thread
health       a round trip through a node, the figures of all servers
envelope     checksum and compression around a value
totals       what the caches of all processes answered, summed
tiers        L1, Main and Backup of Memcached behind one face
layers       one of them: fixed slots; `nodes`, `flights`, `suspicion`, `breaker`, `generations`, `wire`: one node
readthrough  ask the cache for many, load what is missing, store it
window       a contiguous newest window of ids per reader, in Redis
counters     several counts per id in packed records in Redis
vector       the newest ids of one list, packed; pure
weekbucket   an owner's values of one ISO week, in Redis
local        a small cache inside the process
existence    who did what with which post: Bloom segments; `bloom`, `segments`, `trust`: their parts
forgetting   drops one class of data from Redis
ratelimit    exact limits in Redis

A failure of a cache is a miss, never an error: every function here says what its miss looks like.
What an app keeps in caches is declared in that app's `cache.py`.
"""
