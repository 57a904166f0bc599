"""The journey of a post, and push compared with pull.

post        from acceptance to its readers, from the rows of the ledger
both_ways   the same home page assembled by push and by pull, with the store requests of each
"""
