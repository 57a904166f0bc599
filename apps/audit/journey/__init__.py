"""The journey of a post, and push compared with pull.

post        the journey from acceptance to the readers, from the rows of the ledger
both_ways   the same home page assembled by push and by pull, with the number of requests to each store
"""
