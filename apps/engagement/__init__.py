"""Likes, bookmarks, reads and votes; the counts of posts and accounts, checked and repaired."""
