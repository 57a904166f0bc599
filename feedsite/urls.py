"""Where every route is mounted: pages at /, the API at /api/."""

from csp.decorators import csp_update
from django.contrib import admin
from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from apps.accounts.urls import endpoints as account_endpoints
from apps.accounts.urls import pages as account_pages
from apps.announcements.urls import endpoints as announcement_endpoints
from apps.announcements.urls import pages as announcement_pages
from apps.audit.urls import endpoints as audit_endpoints
from apps.audit.urls import pages as audit_pages
from apps.conversations.urls import endpoints as conversation_endpoints
from apps.conversations.urls import pages as conversation_pages
from apps.filters.urls import endpoints as filter_endpoints
from apps.filters.urls import pages as filter_pages
from apps.filters.urls import second as second_filter_endpoints
from apps.graph.urls import endpoints as graph_endpoints
from apps.graph.urls import pages as graph_pages
from apps.lists.urls import endpoints as list_endpoints
from apps.lists.urls import pages as list_pages
from apps.moderation.urls import endpoints as moderation_endpoints
from apps.moderation.urls import pages as moderation_pages
from apps.notifications.urls import endpoints as notification_endpoints
from apps.notifications.urls import endpoints_v2 as notification_endpoints_v2
from apps.notifications.urls import pages as notification_pages
from apps.oauth.urls import endpoints as oauth_endpoints
from apps.oauth.urls import pages as oauth_pages
from apps.oauth.urls import protocol as oauth_protocol
from apps.personal.urls import pages as personal_pages
from apps.ranking.urls import endpoints as ranking_endpoints
from apps.ranking.urls import pages as ranking_pages
from apps.search.urls import endpoints as search_endpoints
from apps.search.urls import pages as search_pages
from apps.search.urls import second as second_search_endpoints
from apps.streaming.urls import pages as streaming_pages
from apps.syndication.urls import pages as syndication_pages
from apps.tags.urls import endpoints as tag_endpoints
from apps.tags.urls import pages as tag_pages
from apps.timeline.urls import endpoints as timeline_endpoints
from apps.timeline.urls import endpoints_v2 as timeline_endpoints_v2
from apps.timeline.urls import extensions as timeline_extensions
from apps.timeline.urls import pages as timeline_pages
from feedsite import health, instance, operations, static_pages
from feedsite.files import media

# The viewer draws with inline styles; its script comes as a file of its own.
api_docs = csp_update({"style-src": ["'unsafe-inline'"]})(
    SpectacularSwaggerSplitView.as_view(url_name="schema")
)

urlpatterns = [
    # The API first, and in it what is asked most: Django tries one after the other, 200 of them were 5 % of a home API request.
    path("api/v2/instance", instance.instance),
    path(
        "api/v1/",
        include(
            [
                *timeline_endpoints,
                path("instance", instance.instance_v1),
                path("instance/rules", instance.rules),
                path("custom_emojis", instance.custom_emojis),
                *search_endpoints,
                *account_endpoints,
                *oauth_endpoints,
                *graph_endpoints,
                *list_endpoints,
                *filter_endpoints,
                *tag_endpoints,
                *notification_endpoints,
                *announcement_endpoints,
                *conversation_endpoints,
                *moderation_endpoints,
            ]
        ),
    ),
    path(
        "api/v2/",
        include(
            [
                *timeline_endpoints_v2,
                *notification_endpoints_v2,
                *second_search_endpoints,
                *second_filter_endpoints,
            ]
        ),
    ),
    # what Mastodon has no word for
    path("api/x/", include([*timeline_extensions, *ranking_endpoints, *audit_endpoints])),
    path("api/x/topology", operations.topology),
    path("healthz/live", health.live),
    path("healthz/ready", health.ready),
    path("media/<path:name>", media.media_file),
    path("admin/", admin.site.urls),
    path("", include(oauth_protocol)),
    path("", include(static_pages.pages)),
    path(
        "",
        include(
            [
                *syndication_pages,  # their names are longer than those of pages
                *timeline_pages,
                *account_pages,
                *oauth_pages,
                *notification_pages,
                *conversation_pages,
                *streaming_pages,
                *graph_pages,
                *list_pages,
                *filter_pages,
                *search_pages,
                *tag_pages,
                *announcement_pages,
                *moderation_pages,
                *audit_pages,
                *personal_pages,
                *ranking_pages,
            ]
        ),
    ),
    path(".well-known/nodeinfo", instance.nodeinfo_links),
    path("nodeinfo/2.0", instance.nodeinfo),
    path("api/schema", SpectacularAPIView.as_view(), name="schema"),
    path("api/docs", api_docs, name="docs"),
]

handler400 = "feedsite.errors.bad_request"
handler403 = "feedsite.errors.not_allowed"
handler404 = "feedsite.errors.not_found"
handler500 = "feedsite.errors.server_error"
