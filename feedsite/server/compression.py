"""gzip for text, if the client accepts it, with Django's defence against BREACH: a random length in each response.

Files are not compressed: pictures and video already are, and they are requested in ranges; static files have compressed
copies.
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
        """Compress whole responses only: a streaming response is a file, or already being sent."""
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        is_text = kind.startswith(TEXTS) or kind.endswith(TEXT_SUFFIXES)
        if response.streaming or not is_text or response.status_code == HTTPStatus.PARTIAL_CONTENT:
            return response
        compressed: HttpResponseBase = super().process_response(request, response)
        return compressed
