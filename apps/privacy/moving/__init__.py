"""Moving in and out: lists of other sites in Mastodon's CSV files.

files     the formats of the CSV files; parses uploads
lines     what a line of each kind does here, and how it is undone
imports   whole files: requested, processed by a task, reported, undone
exports   the lists of an account here, in the same formats
"""
