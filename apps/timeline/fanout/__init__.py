"""Fan-out on write: deliver posts to the home caches of followers who are online, chunk by chunk.

dispatch         delivers one post to a chunk of followers, and adds it to the author's own pages
split            splits follower lists into chunks, and reads the followers of a chunk
progress         the sums of a delivery's receipts
receipts         the readers that a chunk reached, in a hash chain that reveals changes
author_receipts  deliveries as their authors see them
lag              how late deliveries are
backfill         adds or removes older posts after a change of a follow or a circle
switch           changes an author's or the site's policy, and pushes the posts of a pull period afterwards
auto_policy      the policy `auto`, which chooses the cheapest mode for each author

The list of authors that are pulled now is in `apps.timeline.policy`, because reads need it, too. A reader is online
while they have a home cache (`apps.timeline.sources.home_cache`); a push skips readers without a home cache.
"""
