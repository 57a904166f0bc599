"""Fan-out on write: deliver posts to the home caches of followers who are online, chunk by chunk.

dispatch         deliver one post to a chunk of followers; the author's own pages
split            how a follower list is split into chunks, and who is in a chunk
progress         what the receipts of a delivery add up to
receipts         whom a chunk reached, in a hash chain that reveals changes
author_receipts  what authors are told of their deliveries
lag              how far deliveries are behind
backfill         after a follow or its end, or in a circle: push older posts, or withdraw them
switch           push or pull: change an author's or the site's policy, and push the posts of a pull period afterwards
auto_policy      the policy `auto`: from how many followers on an author is pulled

`apps.timeline.policy` says which authors are pushed and which are pulled now, because readers need it too. A reader is
online while there is a home cache for them (`apps.timeline.sources.home_cache`); a push skips everybody without one.
"""
