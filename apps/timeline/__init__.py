"""Timelines: home, profile, public, tags, lists and threads; publishing and fan-out.

pipeline.page      how every timeline becomes a page: ids, one batch of reads, the verdicts of its rules
pipeline.rulebook  the rules: which posts belong on a page, and why others do not
sources            where ids come from; `home_cache` rebuilds a reader's list of newest ids
policy             which authors are pushed and which are pulled; `fanout.switch` changes it
history            earlier home pages, unread posts, and what has arrived since the reader left

`apps.audit.explain` explains why a post is on a home page or not.
"""
