"""Moving in and out: imports and exports lists as Mastodon's CSV files, and imports archives.

files     the formats of the CSV files; parses uploads
lines     applies and undoes one line of each kind
imports   whole files: requested, processed by a task, reported, undone
exports   writes the lists of an account in the same formats
"""
