"""Settings pages to import files from other sites, see which lines failed, undo an import, and download lists."""

import csv
from typing import Any

from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from apps.errors import DomainError
from apps.events.leases import State
from apps.http.requests import (
    AuthenticatedRequest,
    SeeOther,
    as_download,
    login_required,
    require_get_or_post,
)
from apps.privacy.archive import escape_formula
from apps.privacy.models import ImportKind
from apps.privacy.moving.exports import file_lines
from apps.privacy.moving.imports import own_import, refused_lines, request_import, undo_import
from apps.web.account.personal_data import STOP_POLLING, imports_context, render_data
from apps.web.forms.accounts import ImportForm, add_errors, render_settings

CSV = "text/csv; charset=utf-8"
SHOWN_LINES = 100  # on the page; the file has all lines


@require_get_or_post
@login_required
def imports(request: AuthenticatedRequest) -> HttpResponseBase:
    """Import a file. An htmx request gets only the imports and their progress."""
    if request.htmx and request.method == "GET":
        context = imports_context(request.user)
        status = 200 if context["has_pending"] else STOP_POLLING
        return render(request, "privacy/_imports.html", context, status=status)
    form = ImportForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        file = form.cleaned_data["file"]
        kind = ImportKind(form.cleaned_data["kind"])
        try:
            row = request_import(request.user, kind, file.name, file)
        except DomainError as error:
            add_errors(form, error)
            return render_data(request, form, status=error.status)
        return SeeOther(_report_url(row.pk))
    return render_data(request, form)


@require_safe
@login_required
def report(request: AuthenticatedRequest, import_id: int) -> HttpResponseBase:
    """The progress of an import, and the first lines that failed. An htmx request gets only the progress."""
    progress = own_import(request.user, import_id)
    context: dict[str, Any] = {"progress": progress, "row": progress.row}
    if request.htmx:
        status = 200 if progress.row.state == State.PENDING else STOP_POLLING
        return render(request, "privacy/_import.html", context, status=status)
    lines = refused_lines(request.user, import_id)
    context |= {"lines": lines[:SHOWN_LINES], "is_cut": len(lines) > SHOWN_LINES}
    return render_settings(request, "privacy/import.html", "export", context)


@require_safe
@login_required
def report_file(request: AuthenticatedRequest, import_id: int) -> HttpResponseBase:
    """All lines that failed, as a CSV file."""
    lines = refused_lines(request.user, import_id)
    response = HttpResponse()
    table = csv.writer(response)
    table.writerow([_("Line"), _("Text of the line"), _("Why it was not imported")])
    for line in lines:
        table.writerow([line.number, escape_formula(str(line)), line.reason])
    return as_download(response, f"import-{import_id}.csv", CSV)


@require_POST
@login_required
def undo(request: AuthenticatedRequest, import_id: int) -> HttpResponseBase:
    return SeeOther(_report_url(undo_import(request.user, import_id).pk))


@require_safe
@login_required
def list_file(request: AuthenticatedRequest, name: str) -> HttpResponseBase:
    """The viewer's follows, blocks, mutes, lists or bookmarks, as a CSV file that this site and others can import."""
    return as_download(StreamingHttpResponse(file_lines(request.user, name)), name, CSV)


def _report_url(import_id: int) -> str:
    return reverse("import_report", args=[import_id])
