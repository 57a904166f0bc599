"""Erases the orders of a deleted account. Archives contain no orders, because they expire after a day."""

from apps.accounts.models import User
from apps.ranking import rank_timeline
from apps.ranking.models import RankingChoice, RankSession


def rankings(user: User, limit: int) -> int:
    """Delete stored orders, the choice of an algorithm, and the rank timeline in Redis; returns the number of rows."""
    rank_timeline.drop(user.pk)
    orders = RankSession.objects.filter(viewer=user).values("pk")[:limit]
    count, _by_model = RankSession.objects.filter(pk__in=orders).delete()
    return count + RankingChoice.objects.filter(user=user).delete()[0]
