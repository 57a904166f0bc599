"""Timelines: home, profile, public, tags, lists and threads; publishing and fan-out.

pipeline.page makes the pages of all timelines: ids, batches of reads, the verdicts of the rules pipeline.rulebook the
rules, which decide which posts belong on a page, and why others do not sources the sources of ids; `home_cache`
rebuilds a reader's list of newest ids policy which authors are pushed and which are pulled; `fanout.switch` changes
this history earlier home pages, unread posts, and posts that arrived since the reader left

`apps.audit.explain` explains why a post is or is not on a home page.
"""
