"""Creates the demo in one transaction: people, then follows, posts, reactions and counts.

The "cast" are the people with written profiles and posts; the "crowd" are generated accounts.
"""
