"""The cache infrastructure: clients, and structures that know ids and bytes, nothing else.

Three floors, the lower ones first:

the servers     `servers`: connections from the settings; with `redisclients` and `redispool` the only modules that import redis
                and pymemcache. `topology`, `listener`: which Memcached nodes there are, and how a process learns of it.
                `replicas`, `slots`: beyond one Redis. `breaker`, `bulkhead`: what fails or hangs costs others nothing.
                `health`, `stats`, `totals`: how the caches do. `broadcast`, `rate_limit`, `forgetting`: small uses of Redis.
                `local`, `decoded`: what a process keeps for itself.
`memcached/`    L1, Main and Backup behind one face. On top of it `singleflight`, `readthrough`: ask for many, load what is
                missing, store it; `together`: several classes of data at the same time; `fence`: may it be believed.
`structures/`   vectors, windows, sets, heads of lists, counters, existence filters.

A failure of a cache is a miss, never an error: every function here says what its miss looks like.
What an app keeps in caches is declared in that app's `cache.py`.
"""
