"""The site's apps. Imports point down only:

demo           a populated site to look at
notifications  what happened to me
timeline       who sees what, when
engagement     what readers do with a post: like, bookmark
posts          what is said
graph          who follows, blocks and mutes whom
accounts       who
events         news from lower apps to higher ones, recorded in the transaction of the change
caches         the clients of Redis and Memcached and the structures kept there; ids and bytes only
ids | paging | refusals   composite ids; cursors and pages; what an action may refuse
"""
