"""Counts the posts, logins and new accounts of each week, for directories of sites."""
