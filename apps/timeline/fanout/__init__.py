"""Fan-out on write: deliver posts to the home caches of followers who are online, chunk by chunk, losing none.

dispatch    deliver one post to a chunk of followers; follows and unfollows
ledger      split follower lists into chunks, and sum up their receipts
switch      change an author's or the site's policy: announce first, act later
backfill    push the posts of a pull period after it has ended
cost        policy `auto`: measure what pushing and pulling cost, and choose

The policies in force are in `apps.timeline.policy`: readers need them too.
"""
