"""Fan-out on write: deliver posts to the home caches of followers who are online, chunk by chunk.

dispatch         deliver one post to a chunk of followers; the author's own pages
split            how a follower list is split into chunks, and which followers a chunk has
progress         the sums of a delivery's receipts
receipts         the readers that a chunk reached, in a hash chain that reveals changes
author_receipts  what authors see of their deliveries
lag              how late deliveries are
backfill         after a change of a follow or a circle: push older posts, or remove them
switch           push or pull: change an author's or the site's policy, and push the posts of a pull period afterwards
auto_policy      the policy `auto`: the number of followers from which an author is pulled

`apps.timeline.policy` has the authors that are pushed and pulled now, because readers need it too. Readers are online
while they have a home cache (`apps.timeline.sources.home_cache`); a push skips readers without one.
"""
