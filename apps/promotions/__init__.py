"""Virtual follows, and the segments and campaigns that make them (source 003, S127 to S129).

A virtual follow brings the open posts of a promoted account to a reader who does not follow it. It is in no list, count
or relation, nobody but its reader learns of it, and it never grants a restricted post.

What the timeline may use (all else is of this app):

- `queries.virtual_follower_chunks`, `queries.virtual_follower_ids_between`: what a fan-out scans beside the followers,
  for open posts only.
- `queries.ask_promotions`: which accounts this reader may see promoted now, and why, as a part of the batch of the
  viewer's context; `queries.promotions_of` is the same from PostgreSQL. Asked for every page: the campaign may have
  ended, its budget or the reader's cap may be used up a moment ago. A post of an author who is a virtual followee but
  not in it is left out; one in it is labelled "Promoted" with `Promotion.reason()`.
- `actions.count_impressions`: once for each page that was shown.
- the event `virtual_follow_changed`: virtual follows of an account began, ended or have another reason, for these
  readers. Their `graph_revision` grew in the same transaction, so whatever is kept at a revision is a miss.
- for settings pages: `queries.choosable_traits`, `stated_traits`, `segments_of`, `is_opted_out`;
  `actions.set_traits`, `opt_out`, `opt_in`.
"""
