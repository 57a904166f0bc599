"""Virtual follows, and the segments and campaigns that make them (source 003, S127 to S129). Optional.

A virtual follow brings the open posts of a promoted account to a reader who does not follow it. It is in no list, count
or relation, nobody but its reader learns of it, and it never grants a restricted post.

The site knows nothing of it but what `PromotionsConfig.ready` adds (`integrations`):

- the table of virtual follows: what a fan-out scans beside the followers, for open posts only
- which posts this reader may see promoted now, and why, as a part of the first batch of a page; without a batch from
  PostgreSQL. Asked for every page: the campaign may have ended, its budget or the reader's cap may be used up a moment
  ago. A post of a virtual followee that is not among them is left out; one that is, is labelled "Promoted" with
  `Promotion.reason()`
- the count of what was shown: once for each page of a program, and for each view of the site's own
- the event `virtual_follow_changed`: virtual follows of an account began, ended or have another reason, for these
  readers. Their `graph_revision` grew in the same transaction, so whatever is kept at a revision is a miss.
- a page of the settings, what archives have of it, a campaign of the demo, what pages say about promoted posts
"""
