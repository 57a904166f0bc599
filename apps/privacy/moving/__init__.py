"""Moving in and out: lists of other sites in Mastodon's CSV files.

files     what each kind of file looks like: reads one that was uploaded
lines     what one line does here, and how that is undone
imports   files line by line: asked for, worked off by a task, reported, undone
exports   the same lists of an account here, in the same form
"""
