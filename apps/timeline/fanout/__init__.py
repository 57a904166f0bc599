"""Fan-out on write: deliver posts to the home caches of followers who are online, chunk by chunk, losing none.

dispatch         deliver one post to a chunk of followers; the author's own pages
split            how a follower list is cut into chunks
progress         what the receipts of a delivery add up to
receipts         whom a chunk reached, in a chain that shows changes
author_receipts  what authors are told of their deliveries
lag              how far deliveries are behind
backfill         somebody follows, or joins a circle: push older posts, or withdraw them
switch           push or pull: change an author's or the site's policy, and push the posts of a pull period afterwards
auto_policy      the policy `auto`: from how many followers on an author is pulled

Which authors are pushed and which are pulled now is in `apps.timeline.policy`: readers need it too. Who is online has a
home cache: `apps.timeline.sources.home_cache` says for how long it lives, and a push skips everybody without one.
"""
