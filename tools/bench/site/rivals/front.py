"""The constant page behind everything that precedes our home API: middleware, token, rate limit and REST framework.

No page of the API can cost less.
"""

import os
from pathlib import Path

from django.http import HttpResponse
from django.urls import path
from rest_framework.request import Request

from apps.api.decorators import endpoint

BODY = Path(os.environ["BENCH_PAGE"]).read_bytes()


@endpoint(GET="read:statuses")  # type: ignore[arg-type]  # the bytes are not rendered again
def page(_request: Request) -> HttpResponse:
    return HttpResponse(BODY, content_type="application/json")


urlpatterns = [path("api/v1/timelines/home", page)]
