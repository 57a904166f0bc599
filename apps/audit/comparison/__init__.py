"""Compares the site with the oracle.

pages          a home page that was shown, or a cached one
explanations   /explain, for random pairs of a reader and a post
replay         a period of one reader's home, assembled in every way
"""
