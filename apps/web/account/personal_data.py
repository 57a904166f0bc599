"""Settings pages: import and export the account's data, delete the account."""

from typing import Any

from django.contrib.auth import logout
from django.http import FileResponse, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_safe

from apps.accounts.models import User
from apps.errors import Invalid, NotAllowed, NotFound
from apps.events.leases import State
from apps.http.requests import (
    AuthenticatedRequest,
    SeeOther,
    SiteRequest,
    login_required,
    require_get_or_post,
    session_origin,
)
from apps.privacy.archive import private_storage
from apps.privacy.erasure import delete_account
from apps.privacy.export import newest_export, own_export, request_export
from apps.privacy.moving.exports import FILES
from apps.privacy.moving.imports import imports_of
from apps.web.forms.accounts import DeleteAccountForm, ImportForm, add_errors, render_settings

STOP_POLLING = 286  # htmx stops polling when it gets this status


@require_get_or_post
@login_required
def export(request: AuthenticatedRequest) -> HttpResponseBase:
    """Request an archive, see its progress and download it; an htmx request gets only the progress."""
    if request.method == "POST":
        request_export(request.user)
        return SeeOther(request.path)
    if request.htmx:
        newest = newest_export(request.user)
        is_pending = newest is not None and newest.state == State.PENDING
        status = 200 if is_pending else STOP_POLLING
        return render(request, "privacy/_export.html", {"export": newest}, status=status)
    return render_data(request, ImportForm())


def imports_context(user: User) -> dict[str, Any]:
    imports = imports_of(user)
    has_pending = any(progress.row.state == State.PENDING for progress in imports)
    return {"imports": imports, "has_pending": has_pending}


def render_data(
    request: AuthenticatedRequest, form: ImportForm, *, status: int = 0
) -> HttpResponse:
    """The page of imports and exports. `status` overrides the status that the form implies."""
    context = {
        "export": newest_export(request.user),
        "form": form,
        "files": FILES,
        **imports_context(request.user),
    }
    response = render_settings(request, "privacy/export.html", "export", context, form)
    if status:
        response.status_code = status
    return response


@require_safe
@login_required
def download(request: AuthenticatedRequest, export_id: int) -> HttpResponseBase:
    """Serve the archive, only to its owner, until it expires."""
    archive = own_export(request.user, export_id)
    try:
        file = private_storage().open(archive.name)
    except FileNotFoundError:
        raise NotFound(_("This archive no longer exists. You can make a new one.")) from None
    name = f"{request.user.handle}-{archive.created_at:%Y-%m-%d}.zip"
    response = FileResponse(file, as_attachment=True, filename=name, content_type="application/zip")
    response.headers["Cache-Control"] = "private, no-store"
    return response


@sensitive_post_parameters("password")
@require_get_or_post
@login_required
def delete(request: AuthenticatedRequest) -> HttpResponseBase:
    """Delete the viewer's account, after asking for the password."""
    form = DeleteAccountForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            delete_account(
                request.user,
                password=form.cleaned_data["password"],
                origin=session_origin(request),
            )
        except Invalid as error:
            add_errors(form, error)
        except NotAllowed as error:
            form.add_error(None, error.message)
        else:
            logout(request)
            return SeeOther(reverse("account_deleted"))
    return render_settings(request, "privacy/delete.html", "delete", {"form": form}, form)


@require_safe
def deleted(request: SiteRequest) -> HttpResponse:
    """The page shown after an account is deleted; a message on another page would be easy to miss."""
    return render(request, "privacy/deleted.html")
