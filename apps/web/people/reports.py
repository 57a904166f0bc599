"""The page to report an account or a post."""

from django.contrib import messages
from django.http import HttpResponseBase
from django.utils.translation import gettext as _

from apps.accounts.queries import user_by_handle
from apps.errors import BadRequest, Invalid
from apps.http.requests import (
    AuthenticatedRequest,
    SeeOther,
    login_required,
    require_get_or_post,
    return_url,
)
from apps.moderation.actions import file_report
from apps.web.forms.accounts import add_errors, render_form
from apps.web.forms.reports import ReportForm
from feedcache.ids import parse_id


@require_get_or_post
@login_required
def report(request: AuthenticatedRequest, handle: str) -> HttpResponseBase:
    """Report an account, or one of its posts or collections, given by id as `post` or `collection`."""
    person, form = user_by_handle(handle), ReportForm(request.POST or None)
    back = return_url(request, person.url)
    about = {"post_ids": _ids(request, "post"), "collection_ids": _ids(request, "collection")}
    if request.method == "POST" and form.is_valid():
        try:
            file_report(request.user, person, **{**form.cleaned_data, **about})
        except Invalid as error:
            add_errors(form, error)
        else:
            messages.success(request, _("Thank you. The staff will look at it."))
            return SeeOther(back)
    context = {"person": person, "form": form, "back": back, **about}
    return render_form(request, "moderation/report.html", context, form)


def _ids(request: AuthenticatedRequest, name: str) -> list[int]:
    text = request.POST.get(name) or request.GET.get(name)
    try:
        return [parse_id(text)] if text else []
    except ValueError:
        raise BadRequest(_("This is not an id.")) from None
