"""Likes, bookmarks, reactions, reads and votes. Also checks and repairs the counts of posts and accounts."""
