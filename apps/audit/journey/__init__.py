"""The journey of a post, and what it saves readers.

post        from the moment it was accepted to its readers, from the rows of the ledger
both_ways   the same home page made by push and by pull, with what each way asks of the stores
"""
