"""What publishing has as a consequence: the post goes to the windows of those who are online, chunk by chunk, and nothing is lost.

ledger      follower lists cut into chunks, and the receipts of these
fanout      one post to the windows of a chunk; follows and unfollows
switching   an author's policy changes: announced first, acted on later
backfill    posts of a pull period to the windows, after it has ended
costs       policy `auto`: what pushing and pulling cost, and which is chosen

Which policies are in force is known below (`apps.timeline.policy`): readers need that too.
"""
