"""What staff do with earlier posts that they may not read."""

import pytest

from apps.earlier_posts.models import EarlierPost
from apps.posts.actions.publish import DELETE_POSTS
from tests.support.archives import ACTOR, note
from tests.support.staff import browser_of, choose, confirm, make_staff

pytestmark = pytest.mark.django_db
PATH = "/admin/earlier_posts/earlierpost/"
VIEW = "earlier_posts.view_earlierpost"


def test_staff_delete_posts_for_followers(alice, bring):
    bring(alice, note(1, "For followers", to=[f"{ACTOR}/followers"], cc=[]))
    posts = list(EarlierPost.objects.all())
    reader, deleter = (
        browser_of(make_staff(VIEW, permission))
        for permission in ("earlier_posts.delete_earlierpost", DELETE_POSTS)
    )
    confirm(reader, PATH, "delete_posts", posts)
    choose(deleter, PATH, "delete_posts", posts)
    assert list(EarlierPost.objects.all()) == posts
    confirm(deleter, PATH, "delete_posts", posts)
    assert not EarlierPost.objects.exists()
