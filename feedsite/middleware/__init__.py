"""Middleware, one concern per module; settings.MIDDLEWARE has the order, and `pages` says what endpoints leave out.

Elsewhere: the Content-Security-Policy is `settings.CONTENT_SECURITY_POLICY`, which django-csp adds, and
a view changes with `csp.decorators`; `request.user` is `apps.http.authentication`; errors are
`apps.http.errors`; further headers `apps.http.security_headers`; `/healthz` is `feedsite.monitoring.health`.
"""
