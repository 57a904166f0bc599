"""Virtual follows, and the segments and campaigns that make them (source 003, S127 to S129). Optional.

A virtual follow delivers the open posts of a promoted account to a reader who does not follow it; pages show only the
account's newest text post. A virtual follow does not appear in any list, count or relation; only the reader can see it;
and it never gives access to a restricted post.

The app touches the rest of the site only through the parts that `PromotionsConfig.ready` adds, and one event:

- the table of virtual follows, which a fan-out of open posts scans after the followers
- the promotions that a reader may see now, read in the first round trip of each page, or else from PostgreSQL.
  Every page reads them again, because a campaign may just have ended, or reached its budget or the reader's cap. A
  virtual followee's post is labelled "Promoted" with `Promotion.reason()`, or left out if there is no promotion for it
- the count of impressions: one for each page of the API, and one for each view of the site's own pages
- the event `virtual_follow_changed`: the virtual follows of one account by some readers began, ended or changed their
  reason. The readers' `graph_revision` grew in the same transaction, so everything cached for the old one is a miss
- a settings page, a file in archives, a demo campaign, and texts about promoted posts
"""
