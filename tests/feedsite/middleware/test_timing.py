"""The access log contains no secrets, whatever becomes of a request."""

import pytest
from django.test import RequestFactory

from feedsite.middleware.timing import _path


@pytest.mark.parametrize(
    ("path", "logged"),
    [
        ("/email/confirm/a-secret", "/email/confirm/<str:token>"),
        ("/password/reset/Mg/a-secret", "/password/reset/<str:uidb64>/<str:token>"),
        ("/public", "/public"),
        ("/no/such/page", "/no/such/page"),
    ],
)
def test_a_request_that_was_refused_before_its_view_was_found_logs_no_secret(path, logged):
    assert _path(RequestFactory().get(path)) == logged
