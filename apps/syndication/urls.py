"""Routes: documents for feed readers, crawlers and browsers. They come before the pages, whose addresses take any ending."""

from django.urls import URLPattern, path

from apps.syndication import discovery, previews, sitemaps, views
from apps.syndication.formats import FORMS
from apps.timeline import converters  # noqa: F401 -- makes `post` known in routes

pages: list[URLPattern] = [
    *[path(f"@<str:handle>.{form}", views.account, {"form": form}) for form in FORMS],
    *[path(f"tags/<str:name>.{form}", views.tag, {"form": form}) for form in FORMS],
    *[path(f"public.{form}", views.everybody, {"form": form}) for form in FORMS],
    path("@<str:handle>/<post:post_id>/card.png", previews.card, name="card"),
    path("oembed", previews.oembed, name="oembed"),
    path("sitemap.xml", sitemaps.index, name="sitemap"),
    path("sitemap-pages.xml", sitemaps.pages, name="sitemap_pages"),
    path("sitemap-people-<int:number>.xml", sitemaps.accounts, name="sitemap_accounts"),
    path("sitemap-posts-<str:day>.xml", sitemaps.posts, name="sitemap_posts"),
    path("opensearch.xml", discovery.opensearch, name="opensearch"),
    path(".well-known/webfinger", discovery.webfinger, name="webfinger"),
    path(".well-known/host-meta", discovery.host_meta, name="host_meta"),
    path(".well-known/security.txt", discovery.security, name="security_txt"),
    path(".well-known/change-password", discovery.change_password),
]
