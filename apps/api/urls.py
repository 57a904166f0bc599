"""Every endpoint and its address: Mastodon's in v1 and v2, those that it has no word for in extensions."""

from django.urls import URLPattern, path

from apps.api.accounts import (
    accounts,
    credentials,
    filters,
    follows,
    relationships,
    reports,
    sign_up,
)
from apps.api.notifications import announcements, groups, notifications, policy
from apps.api.oauth import endpoints
from apps.api.staff import policies
from apps.api.statuses import explain, history, media, polls, reactions, scheduled, statuses
from apps.api.timelines import conversations, lists, ranked, search, tags, timelines

v1: list[URLPattern] = [
    # timeline
    path("timelines/home", timelines.home),
    path("timelines/public", timelines.public),
    path("timelines/list/<int:list_id>", timelines.of_list),
    path("timelines/tag/<str:name>", timelines.of_tag),
    path("bookmarks", timelines.bookmarks),
    path("accounts/<int:account_id>/statuses", timelines.of_account),
    path("media", media.upload_v1),
    path("media/<int:media_id>", media.one),
    path("polls/<int:poll_id>", polls.one),
    path("polls/<int:poll_id>/votes", polls.votes),
    path("favourites", timelines.favourites),
    path("statuses", statuses.several),
    path("scheduled_statuses", scheduled.waiting),
    path("scheduled_statuses/<int:number>", scheduled.one),
    path("statuses/<int:status_id>", statuses.one),
    path("statuses/<int:status_id>/context", statuses.context),
    path("statuses/<int:status_id>/interaction_policy", statuses.interaction_policy),
    path("statuses/<int:status_id>/history", history.history),
    path("statuses/<int:status_id>/source", history.source),
    path("statuses/<int:status_id>/favourited_by", reactions.favourited_by),
    path("statuses/<int:status_id>/reblogged_by", reactions.reblogged_by),
    path("statuses/<int:status_id>/quotes", reactions.quotes),
    path("statuses/<int:status_id>/pin", statuses.pin),
    path("statuses/<int:status_id>/unpin", statuses.unpin),
    path("statuses/<int:status_id>/mute", statuses.mute),
    path("statuses/<int:status_id>/unmute", statuses.unmute),
    path("statuses/<int:status_id>/favourite", statuses.favourite),
    path("statuses/<int:status_id>/unfavourite", statuses.unfavourite),
    path("statuses/<int:status_id>/reblog", statuses.reblog),
    path("statuses/<int:status_id>/unreblog", statuses.unreblog),
    path("statuses/<int:status_id>/bookmark", statuses.bookmark),
    path("statuses/<int:status_id>/unbookmark", statuses.unbookmark),
    # search
    path("accounts/search", search.accounts),
    path("trends/statuses", search.trends),
    path("trends/links", search.links),
    path("suggestions", search.suggested_accounts),
    path("suggestions/<int:account_id>", search.dismissed),
    # accounts
    path("preferences", accounts.preferences),
    path("emails/confirmations", accounts.resend_confirmation),
    path("emails/check_confirmation", accounts.check_confirmation),
    path("accounts/lookup", accounts.lookup),
    path("accounts/<int:account_id>", accounts.show),
    # oauth
    path("accounts", sign_up.accounts),
    path("apps", endpoints.applications),
    path("apps/verify_credentials", endpoints.verify_credentials),
    # graph
    path("accounts/verify_credentials", credentials.verify_credentials),
    path("accounts/update_credentials", credentials.update_credentials),
    path("accounts/relationships", follows.relationships),
    path("accounts/familiar_followers", follows.familiar_followers),
    path("circles", follows.circles),
    path("accounts/<int:account_id>/followers", follows.followers),
    path("accounts/<int:account_id>/following", follows.following),
    path("accounts/<int:account_id>/endorsements", follows.endorsed),
    *[
        path(f"accounts/<int:account_id>/{name}", getattr(relationships, name))
        for name in ("endorse", "unendorse", "pin", "unpin")
    ],
    path("endorsements", relationships.endorsements),
    path("accounts/<int:account_id>/follow", relationships.follow),
    path("accounts/<int:account_id>/unfollow", relationships.unfollow),
    path("accounts/<int:account_id>/remove_from_followers", relationships.remove_from_followers),
    path("accounts/<int:account_id>/block", relationships.block),
    path("accounts/<int:account_id>/unblock", relationships.unblock),
    path("accounts/<int:account_id>/mute", relationships.mute),
    path("accounts/<int:account_id>/unmute", relationships.unmute),
    path("accounts/<int:account_id>/note", relationships.note),
    path("blocks", relationships.blocks),
    path("mutes", relationships.mutes),
    path("follow_requests", relationships.follow_requests),
    path("follow_requests/<int:account_id>/authorize", relationships.authorize),
    path("follow_requests/<int:account_id>/reject", relationships.reject),
    # lists
    path("lists", lists.lists),
    path("lists/<int:list_id>", lists.one),
    path("lists/<int:list_id>/accounts", lists.members),
    path("accounts/<int:account_id>/lists", lists.with_account),
    # filters
    path("filters", filters.old_filters),
    path("filters/<int:keyword_id>", filters.old_filter),
    # tags
    path("tags/<str:name>", tags.show),
    path("tags/<str:name>/follow", tags.follow),
    path("tags/<str:name>/unfollow", tags.unfollow),
    path("followed_tags", tags.followed),
    path("featured_tags", tags.featured),
    path("accounts/<int:account_id>/featured_tags", tags.featured_of),
    path("trends", tags.trends_short),
    path("trends/tags", tags.trends),
    # notifications
    path("notifications", notifications.notifications),
    path("notifications/unread_count", notifications.unread),
    path("notifications/clear", notifications.clear_all),
    path("notifications/requests", policy.requests),
    path("notifications/requests/merged", policy.merged),
    path("notifications/requests/accept", policy.accept_several),
    path("notifications/requests/dismiss", policy.dismiss_several),
    path("notifications/requests/<int:account_id>", policy.one),
    path("notifications/requests/<int:account_id>/accept", policy.accept),
    path("notifications/requests/<int:account_id>/dismiss", policy.dismiss),
    path("notifications/<int:notification_id>", notifications.one),
    path("notifications/<int:notification_id>/dismiss", notifications.dismiss_one),
    path("markers", notifications.markers),
    # announcements
    path("announcements", announcements.announcements),
    path("announcements/<int:announcement_id>/dismiss", announcements.dismiss),
    path("announcements/<int:announcement_id>/reactions/<str:emoji>", announcements.reaction),
    # conversations
    path("conversations", conversations.conversations),
    path("conversations/<int:conversation_id>", conversations.one),
    path("conversations/<int:conversation_id>/read", conversations.read),
    # moderation
    path("reports", reports.reports),
]

v2: list[URLPattern] = [
    # timeline
    path("media", media.upload_v2),
    # search
    path("search", search.search),
    path("suggestions", search.suggestions),
    # filters
    path("filters", filters.filters),
    path("filters/<int:filter_id>", filters.one),
    path("filters/<int:filter_id>/keywords", filters.keywords),
    path("filters/keywords/<int:keyword_id>", filters.keyword),
    path("filters/<int:filter_id>/statuses", filters.statuses),
    path("filters/statuses/<int:row_id>", filters.status),
    # notifications
    path("notifications", groups.groups),
    path("notifications/unread_count", groups.unread),
    path("notifications/policy", policy.policy),
    path("notifications/<str:group_key>", groups.group),
    path("notifications/<str:group_key>/accounts", groups.group_accounts),
    path("notifications/<str:group_key>/dismiss", groups.dismiss),
]

extensions: list[URLPattern] = [
    path("explain/home", explain.home),
    path("explain/statuses/<int:status_id>", explain.status),
    path("ranked", ranked.ranked),
    path("ranking/preset", ranked.preset),
    path("activity", timelines.activity),
    path("policies", policies.of_authors),
    path("policies/site", policies.of_site),
    path("policies/<int:account_id>", policies.of_author),
]

protocol: list[URLPattern] = [
    # oauth
    path("oauth/token", endpoints.token),
    path("oauth/revoke", endpoints.revoke),
    path(".well-known/oauth-authorization-server", endpoints.server),
]
