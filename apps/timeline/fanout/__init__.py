"""Fan-out on write: deliver posts to the home caches of followers who are online, chunk by chunk, losing none.

dispatch    deliver one post to a chunk of followers
ledger      split follower lists into chunks, and sum up their receipts
receipts    whom a chunk reached, in a chain that shows changes
lag         how far deliveries are behind
backfill    somebody follows, or joins a circle: push older posts, or withdraw them
switch      push or pull: change an author's or the site's policy, and push the posts of a pull period afterwards
cost        policy `auto`: measure what pushing and pulling cost, and choose

Which authors are pushed and which are pulled now is in `apps.timeline.policy`: readers need it too.
"""
