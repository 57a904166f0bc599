"""What the site says beside what the oracle says.

pages          a home page that was shown, or a cached one
explanations   /explain, for random pairs of a reader and a post
replay         a stretch of somebody's home, put together in every way
"""
