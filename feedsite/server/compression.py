"""gzip for texts, when the client takes it, with Django's defence against BREACH: a random length in each response.

Files are left alone: pictures and video are compressed already and asked for in ranges, static ones have compressed
copies beside them.
"""

from http import HTTPStatus

from django.http import HttpRequest, HttpResponseBase
from django.middleware.gzip import GZipMiddleware

TEXTS = ("text/", "application/json", "application/xml", "application/vnd.oai.openapi")
TEXT_SUFFIXES = ("+json", "+xml")  # feeds, the manifest, the schema, drawings


class CompressionMiddleware(GZipMiddleware):
    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """Of whole responses only: one in parts is a file or already on its way."""
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        is_text = kind.startswith(TEXTS) or kind.endswith(TEXT_SUFFIXES)
        if response.streaming or not is_text or response.status_code == HTTPStatus.PARTIAL_CONTENT:
            return response
        compressed: HttpResponseBase = super().process_response(request, response)
        return compressed
