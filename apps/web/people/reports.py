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
    """Report an account, or with `post` (the id of one of its posts) that post."""
    person, form = user_by_handle(handle), ReportForm(request.POST or None)
    back, post_ids = return_url(request, person.url), _post_ids(request)
    if request.method == "POST" and form.is_valid():
        try:
            file_report(request.user, person, **form.cleaned_data, post_ids=post_ids)
        except Invalid as error:
            add_errors(form, error)
        else:
            messages.success(request, _("Thank you. The staff will look at it."))
            return SeeOther(back)
    context = {
        "person": person,
        "form": form,
        "back": back,
        "post_ids": post_ids,
    }
    return render_form(request, "moderation/report.html", context, form)


def _post_ids(request: AuthenticatedRequest) -> list[int]:
    text = request.POST.get("post") or request.GET.get("post")
    try:
        return [parse_id(text)] if text else []
    except ValueError:
        raise BadRequest(_("This is not an id.")) from None
