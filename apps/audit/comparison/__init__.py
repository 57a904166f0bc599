"""Comparison of the site with the oracle.

pages          home pages that were shown, and readers' windows (home caches and inboxes)
cached         other cached values, such as posts and outboxes, compared with PostgreSQL
explanations   /explain, for random pairs of a reader and a post
replay         a period of one reader's home, assembled in every available way
"""
