"""The same bytes for everybody, as many as our page has: the cost of the server and the framework alone."""

import os
from pathlib import Path

from django.http import HttpRequest, HttpResponse
from django.urls import path

BODY = Path(os.environ["BENCH_PAGE"]).read_bytes()


def page(_request: HttpRequest) -> HttpResponse:
    return HttpResponse(BODY, content_type="application/json")


urlpatterns = [path("page", page)]
