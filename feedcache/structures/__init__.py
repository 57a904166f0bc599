"""What is kept in the caches, by its shape: vectors and windows of ids, sets, heads of lists, counters, existence filters.

None of them knows whose ids they are: an app says in its own `cache` module which structure it keeps, and under which name.
`vector`, `bloom` and `dump` are pure; all others speak to Redis.
"""
