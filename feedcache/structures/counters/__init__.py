"""CounterService: several small counts per id in one packed record, records of neighbouring ids in one Redis hash.

schema       the counts of a record, and its byte form
layout       the bucket of an id, and its name there
lua          the keys in Redis, and the Lua that all scripts share
scripts      atomic operations on records
store        records in Redis: read, put, count
buckets      whole buckets: load cold ones, write back, drop
building     the store as a whole: does a missing record mean zero, who rebuilds
service      counts of ids, whatever state the store is in
maintenance  rebuild, write back, evict, compare
"""
