"""Pages to read posts: home, the public timeline, lists, tags, bookmarks, search."""
