"""Moving in and out: lists of other sites in Mastodon's CSV files.

files     the formats of the CSV files; parses uploads
lines     applies and undoes one line of each kind
imports   whole files: requested, processed by a task, reported, undone
exports   the lists of an account here, in the same formats
"""
