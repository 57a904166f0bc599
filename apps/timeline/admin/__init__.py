"""The staff pages for deliveries, policies and posts."""

from apps.timeline.admin import fanout, policies, posts

__all__ = ["fanout", "policies", "posts"]
