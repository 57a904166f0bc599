"""Staff pages of the timeline: deliveries, policies, posts."""

from apps.timeline.admin import fanout, policies, posts

__all__ = ["fanout", "policies", "posts"]
