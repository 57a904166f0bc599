"""Timelines: home, profile, public, tags, lists and threads; publishing and fan-out.

pipeline.page      makes the pages of all timelines from candidate ids, batches of reads, and the rules' verdicts
pipeline.rulebook  decides which posts belong on a page, and why others do not
sources            read candidate ids; `sources.home_cache` also rebuilds readers' lists of newest ids
policy             tells which authors are pushed and which are pulled; `fanout.switch` changes this
fanout             delivers posts to home caches
history            earlier home pages, unread posts, and posts that arrived since the reader left

`apps.audit.explain` explains why a post is or is not on a home page.
"""
