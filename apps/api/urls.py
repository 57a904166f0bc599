"""The routes of the API: Mastodon's in `v1` and `v2`, this site's own in `extensions`, OAuth's in `protocol`.

The instance itself, its rules, custom emoji and NodeInfo are in `feedsite.urls`.
"""

from django.urls import URLPattern, path

from apps.api.hooks import ENDPOINTS, MASTODON_ENDPOINTS, MASTODON_V2_ENDPOINTS
from apps.api.views import (
    accounts,
    filters,
    instance,
    lists,
    media,
    notifications,
    oauth,
    relationships,
    search,
    staff,
    statuses,
    timelines,
)
from apps.events.hooks import urlpatterns_of

v1: list[URLPattern] = [
    # timelines
    path("timelines/home", timelines.home),
    path("timelines/public", timelines.public),
    path("timelines/list/<int:list_id>", timelines.of_list),
    path("timelines/tag/<str:name>", timelines.of_tag),
    path("bookmarks", timelines.bookmarks),
    path("accounts/<int:account_id>/statuses", timelines.account_statuses),
    path("favourites", timelines.favourites),
    path("conversations", timelines.conversations),
    path("conversations/<int:conversation_id>", timelines.conversation),
    path("conversations/<int:conversation_id>/read", timelines.read_conversation),
    # statuses
    path("polls/<int:poll_id>", statuses.show_poll),
    path("polls/<int:poll_id>/votes", statuses.vote_in_poll),
    path("statuses", statuses.statuses),
    path("scheduled_statuses", statuses.scheduled_statuses),
    path("scheduled_statuses/<int:number>", statuses.scheduled_status),
    path("statuses/<int:status_id>", statuses.status),
    path("statuses/<int:status_id>/context", statuses.status_context),
    path("statuses/<int:status_id>/interaction_policy", statuses.interaction_policy),
    path("statuses/<int:status_id>/history", statuses.status_history),
    path("statuses/<int:status_id>/source", statuses.status_source),
    path("statuses/<int:status_id>/favourited_by", statuses.favourited_by),
    path("statuses/<int:status_id>/reblogged_by", statuses.reblogged_by),
    path("statuses/<int:status_id>/quotes", statuses.status_quotes),
    path("statuses/<int:status_id>/quotes/<int:quote_id>/revoke", statuses.revoke_quote),
    path("statuses/<int:status_id>/pin", statuses.pin),
    path("statuses/<int:status_id>/unpin", statuses.unpin),
    path("statuses/<int:status_id>/mute", statuses.mute),
    path("statuses/<int:status_id>/unmute", statuses.unmute),
    *statuses.mark_paths("v1"),
    path("statuses/<int:status_id>/reblog", statuses.reblog_status),
    path("statuses/<int:status_id>/unreblog", statuses.unreblog),
    # media
    path("media", media.upload_v1),
    path("media/<int:media_id>", media.media),
    # accounts
    path("preferences", accounts.preferences),
    path("profile", accounts.profile),
    path("profile/avatar", accounts.delete_avatar),
    path("profile/header", accounts.delete_header),
    path("emails/confirmations", accounts.resend_confirmation),
    path("emails/check_confirmation", accounts.check_confirmation),
    path("accounts/lookup", accounts.lookup_account),
    path("accounts/<int:account_id>", accounts.show_account),
    path("accounts", accounts.accounts),
    path("accounts/verify_credentials", accounts.verify_credentials),
    path("accounts/update_credentials", accounts.update_credentials),
    path("reports", accounts.report_account),
    # relationships
    path("accounts/relationships", relationships.relationships),
    path("accounts/familiar_followers", relationships.familiar_followers),
    path("accounts/<int:account_id>/followers", relationships.followers),
    path("accounts/<int:account_id>/following", relationships.following),
    path("accounts/<int:account_id>/endorsements", relationships.endorsed),
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
    path("domain_blocks", relationships.domain_blocks),
    path("mutes", relationships.mutes),
    path("follow_requests", relationships.follow_requests),
    path("follow_requests/<int:account_id>/authorize", relationships.authorize),
    path("follow_requests/<int:account_id>/reject", relationships.reject),
    # lists
    path("circles", lists.circles),
    path("lists", lists.lists),
    path("lists/<int:list_id>", lists.user_list),
    path("lists/<int:list_id>/accounts", lists.members),
    path("accounts/<int:account_id>/lists", lists.lists_with_account),
    # search
    path("accounts/search", search.search_accounts),
    path("trends/statuses", search.trending_statuses),
    path("suggestions", search.suggested_accounts),
    path("suggestions/<int:account_id>", search.dismissed),
    path("tags/<str:name>", search.show_tag),
    path("tags/<str:name>/follow", search.follow_tag),
    path("tags/<str:name>/unfollow", search.unfollow_tag),
    path("tags/<str:name>/feature", search.feature_tag),
    path("tags/<str:name>/unfeature", search.unfeature_tag),
    path("followed_tags", search.followed_tags),
    path("featured_tags", search.featured_tags),
    path("featured_tags/suggestions", search.featured_tag_suggestions),
    path("featured_tags/<int:row_id>", search.featured_tag),
    path("directory", search.directory),
    path("accounts/<int:account_id>/featured_tags", search.account_featured_tags),
    path("trends", search.trends),
    path("trends/tags", search.trending_tag_usages),
    # filters
    path("filters", filters.old_filters),
    path("filters/<int:keyword_id>", filters.old_filter),
    # notifications
    path("notifications", notifications.notifications),
    path("notifications/unread_count", notifications.unread_notifications),
    path("notifications/clear", notifications.clear_notifications),
    path("notifications/requests", notifications.notification_requests),
    path("notifications/requests/merged", notifications.notification_requests_merged),
    path("notifications/requests/accept", notifications.accept_several),
    path("notifications/requests/dismiss", notifications.dismiss_several),
    path("notifications/requests/<int:account_id>", notifications.notification_request),
    path("notifications/requests/<int:account_id>/accept", notifications.accept),
    path("notifications/requests/<int:account_id>/dismiss", notifications.dismiss),
    path("notifications/<int:notification_id>", notifications.notification),
    path("notifications/<int:notification_id>/dismiss", notifications.dismiss_notification),
    path("markers", notifications.markers),
    # instance
    path("instance/peers", instance.peers),
    path("instance/domain_blocks", instance.blocked_sites),
    path("instance/extended_description", instance.extended_description),
    path("instance/privacy_policy", instance.privacy_policy),
    path("instance/languages", instance.instance_languages),
    path("announcements", instance.announcements),
    path("announcements/<int:announcement_id>/dismiss", instance.dismiss_announcement),
    path("announcements/<int:announcement_id>/reactions/<str:emoji>", instance.reaction),
    # oauth
    path("apps", oauth.applications),
    path("apps/verify_credentials", oauth.verify_application),
    *urlpatterns_of(MASTODON_ENDPOINTS),
]

v2: list[URLPattern] = [
    # media
    path("media", media.upload_v2),
    # search
    path("search", search.search),
    path("suggestions", search.suggestions),
    # filters
    path("filters", filters.filters),
    path("filters/<int:filter_id>", filters.user_filter),
    path("filters/<int:filter_id>/keywords", filters.keywords),
    path("filters/keywords/<int:keyword_id>", filters.keyword),
    path("filters/<int:filter_id>/statuses", filters.statuses),
    path("filters/statuses/<int:row_id>", filters.status),
    # notifications
    path("notifications", notifications.grouped_notifications),
    path("notifications/unread_count", notifications.unread_notification_groups),
    path("notifications/policy", notifications.notification_policy),
    path("notifications/clear", notifications.clear_grouped_notifications),
    path("notifications/<str:group_key>", notifications.notification_group),
    path("notifications/<str:group_key>/accounts", notifications.notification_group_accounts),
    path("notifications/<str:group_key>/dismiss", notifications.dismiss_notification_group),
    *urlpatterns_of(MASTODON_V2_ENDPOINTS),
]

extensions: list[URLPattern] = [
    path("audit", instance.audit),
    path("audit/mine", timelines.audit_mine),
    path("explain/home", timelines.explain_home),
    path("explain/statuses/<int:status_id>", timelines.explain_status),
    path("statuses/<int:status_id>/receipt", timelines.receipt),
    path("statuses/<int:status_id>/journey", timelines.journey),
    *statuses.mark_paths("x"),
    path("catch_up", timelines.catch_up),
    path("recommended", search.recommended),
    path("activity", timelines.activity),
    path("accounts/<int:account_id>/friends", relationships.friends),
    path("policies", staff.author_policies),
    path("policies/site", staff.site_policy),
    path("policies/<int:account_id>", staff.author_policy),
    *urlpatterns_of(ENDPOINTS),
]

protocol: list[URLPattern] = [
    path("oauth/token", oauth.token),
    path("oauth/revoke", oauth.revoke_token),
    path("oauth/userinfo", oauth.user_info),
    path(".well-known/oauth-authorization-server", oauth.oauth_server),
]
