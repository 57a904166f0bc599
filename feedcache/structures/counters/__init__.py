"""CounterService: several small counts per id in one packed record, records of neighbouring ids in one Redis hash.

schema    which counts a record has, and its byte form
places    which bucket an id belongs to, and its name there
lua       what is kept in Redis; what all scripts share
scripts   what Redis does with records at once
store     records in Redis: read, put, count
buckets   whole buckets: load cold ones, what PostgreSQL does not have yet, drop
building  the store as a whole: is a missing record zero, who rebuilds
service   counts of ids, whatever state the store is in
upkeep    rebuild, write back, cool down, compare
"""
