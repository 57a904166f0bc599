"""What every page must show, recomputed from the tables in plain Python: slow, and nothing shared with the read path."""

from collections import Counter, defaultdict

from django.db import connection


def rows(statement):
    with connection.cursor() as sql:
        sql.execute(statement)
        names = [column.name for column in sql.description]
        return [dict(zip(names, row, strict=True)) for row in sql.fetchall()]


def pairs(table, owner, other):
    found = defaultdict(set)
    for row in rows(f"SELECT {owner} AS a, {other} AS b FROM {table}"):  # constants of this module
        found[row["a"]].add(row["b"])
    return found


class Oracle:
    """The state of the database at one moment."""

    def __init__(self):
        self.posts = {row["id"]: row for row in rows("SELECT * FROM posts_post")}
        self.suspended = {
            row["id"] for row in rows("SELECT id FROM accounts_user WHERE suspended_at IS NOT NULL")
        }
        self.follows = pairs("graph_followee", "owner_id", "followee_id")
        self.blocks = pairs("graph_block", "owner_id", "blocked_id")
        self.mutes = pairs("graph_mute", "owner_id", "muted_id")
        self.named = pairs("posts_mention", "post_id", "user_id")
        self.members = pairs("graph_circlemember", "circle_id", "member_id")
        self.circles = {row["id"]: row for row in rows("SELECT * FROM graph_circle")}
        self.likes = pairs("engagement_like", "post_id", "user_id")
        self.bookmarks = pairs("engagement_bookmark", "post_id", "user_id")

    def may_see(self, viewer, post_id):
        post = self.posts.get(post_id)
        if post is None or post["deleted_at"] is not None or post["author_id"] in self.suspended:
            return False
        author = post["author_id"]
        if author in self.blocks[viewer] or viewer in self.blocks[author]:
            return False
        if post["visibility"] in {"public", "unlisted"} or author == viewer:
            return True
        if post["visibility"] == "circle":
            circle = self.circles[post["circle_id"]]
            return circle["deleted_at"] is None and (
                circle["owner_id"] == viewer or viewer in self.members[circle["id"]]
            )
        if viewer in self.named[post_id]:
            return True
        return post["visibility"] == "followers" and author in self.follows[viewer]

    def is_shown(self, viewer, post_id):
        """Visible, and what it reposts is visible as well."""
        if not self.may_see(viewer, post_id):
            return False
        post = self.posts[post_id]
        return post["kind"] != "repost" or self.may_see(viewer, post["source_id"])

    def is_muted(self, viewer, post):
        authors = {post["author_id"]}
        if post["kind"] == "repost":
            authors.add(self.posts[post["source_id"]]["author_id"])
        return bool(authors & self.mutes[viewer])

    def home(self, viewer):
        def belongs(post):
            by_followee = post["author_id"] == viewer or post["author_id"] in self.follows[viewer]
            return (by_followee or post["visibility"] == "circle") and not self.is_muted(
                viewer, post
            )

        return self._newest_first(viewer, belongs)

    def profile(self, author, viewer, *, replies):
        def belongs(post):
            return post["author_id"] == author and (replies or post["reply_to_id"] is None)

        return self._newest_first(viewer, belongs)

    def public(self, viewer):
        def belongs(post):
            said = post["visibility"] == "public" and post["kind"] != "repost"
            return said and not self.is_muted(viewer, post)

        return self._newest_first(viewer, belongs)

    def counts(self, post_id):
        """(replies, reposts, likes) of the rows that justify them."""
        there = [post for post in self.posts.values() if post["deleted_at"] is None]
        replies = sum(post["reply_to_id"] == post_id for post in there)
        reposts = sum(post["kind"] == "repost" and post["source_id"] == post_id for post in there)
        return replies, reposts, len(self.likes[post_id])

    def user_counts(self, user):
        """(followers, following, posts)."""
        posts = Counter(
            post["author_id"] for post in self.posts.values() if post["deleted_at"] is None
        )
        followers = sum(user in others for others in self.follows.values())
        return followers, len(self.follows[user]), posts[user]

    def _newest_first(self, viewer, belongs):
        return [
            post_id
            for post_id in sorted(self.posts, reverse=True)
            if self.is_shown(viewer, post_id) and belongs(self.posts[post_id])
        ]
