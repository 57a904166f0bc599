"""All routes: pages at /, the API at /api/."""

from csp.decorators import csp_update
from django.contrib import admin
from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from apps.api import urls as api
from apps.api.views import instance
from feedsite.files import media, static_pages
from feedsite.monitoring import health, metrics, staff_home

# Swagger UI needs inline styles; its script is a file.
api_docs = csp_update({"style-src": ["'unsafe-inline'"]})(
    SpectacularSwaggerSplitView.as_view(url_name="schema")
)

admin.site.index = staff_home.index  # type: ignore[method-assign]  # Django's documented way

urlpatterns = [
    # Django tries routes in order: the API is first, and `apps.api.urls` begins with the most frequent routes.
    path("api/v2/instance", instance.instance),
    path("api/v1/", include(api.v1)),
    path("api/v1/instance", instance.instance_v1),
    path("api/v1/instance/rules", instance.instance_rules),
    path("api/v1/custom_emojis", instance.custom_emojis),
    path("api/v2/", include(api.v2)),
    path("api/x/", include(api.extensions)),
    path("healthz/live", health.live),
    path("healthz/ready", health.ready),
    path("metrics", metrics.metrics, name="metrics"),
    path("media/<path:name>", media.media_file),
    path("admin/", admin.site.urls),
    path("", include(api.protocol)),
    path("", include(static_pages.pages)),
    path("", include("apps.web.urls")),
    path(".well-known/nodeinfo", instance.nodeinfo_links),
    path("nodeinfo/2.0", instance.nodeinfo),
    path("api/schema", SpectacularAPIView.as_view(), name="schema"),
    path("api/docs", api_docs, name="docs"),
]

handler400 = "apps.http.errors.bad_request"
handler403 = "apps.http.errors.not_allowed"
handler404 = "apps.http.errors.not_found"
handler500 = "apps.http.errors.server_error"
