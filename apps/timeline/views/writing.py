"""Pages to write: the composer, edit, delete."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.forms import form_page, show_refusal
from apps.accounts.visitors import MemberVisit, SeeOther, next_address, page, signed_in_only
from apps.graph.circle_queries import circles_to_post_to
from apps.paging import Cursor
from apps.posts.actions import delete_post, publish_post
from apps.posts.editing import edit_post
from apps.refusals import NotFound, Refusal, TooMany
from apps.timeline import outbox
from apps.timeline.fanout import push_own
from apps.timeline.forms import (
    CIRCLE_PREFIX,
    FIELD_NAMES,
    ComposeForm,
    EditForm,
    composer_context,
)
from apps.timeline.items import FeedItem
from apps.timeline.thread import one_item


@require_safe
@signed_in_only
def compose(request: MemberVisit) -> HttpResponse:
    """A page with nothing but the composer: for narrow screens, replies and quotes."""
    asked = {name: request.GET.get(name, "") for name in ("reply_to", "quote")}
    parent = _item_of(request, asked["reply_to"])
    initial = {**asked, **_answer_to(parent, request.user.pk)} if parent else asked
    return _composer(request, _form(request, initial=initial))


@require_POST
@signed_in_only
def publish(request: MemberVisit) -> HttpResponseBase:
    """Publish; when that is refused, the text stays in the form."""
    form = _form(request, request.POST)
    if not form.is_valid():
        return _composer(request, form, status=422)
    key = form.cleaned_data["idempotency_key"]
    try:
        post = publish_post(request.user, form.draft(), idempotency_key=key)
    except Refusal as refusal:
        show_refusal(form, refusal, FIELD_NAMES)
        return _composer(request, form, status=refusal.status, refusal=refusal)
    push_own(post)
    messages.success(request, _("Posted."))
    permalink = f"{request.user.url}/{post.pk}"
    asked = next_address(request, permalink)
    return SeeOther(permalink if asked == permalink else f"{asked}#p{post.pk}")


@page
@signed_in_only
def edit(request: MemberVisit, post_id: int) -> HttpResponseBase:
    """Change the text of one's own post."""
    item = _own(request, post_id)
    said = {
        "body": item.post.body,
        "content_warning": item.post.content_warning,
        "language": item.post.language,
    }
    form = EditForm(request.POST if request.method == "POST" else None, initial=said)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            edited = edit_post(request.user, post_id, body=data["body"], content_warning=data["content_warning"],
                               language=form.written_language)  # fmt: skip
        except Refusal as refusal:
            show_refusal(form, refusal, FIELD_NAMES)
        else:
            outbox.stay(edited)
            return SeeOther(item.url)
    context = {"item": item, "editing": post_id, "no_fab": True, **composer_context(form)}
    return form_page(request, "timeline/edit.html", context, form)


@page
@signed_in_only
def delete(request: MemberVisit, post_id: int) -> HttpResponseBase:
    """Ask, then delete."""
    item = one_item(request.user.pk, post_id)
    if not (item.flags.own or request.user.is_staff):
        raise NotFound(_("This post isn't here."))
    back = next_address(request)
    if request.method != "POST":
        return render(request, "timeline/delete.html", {"item": item, "back": back, "no_fab": True})
    outbox.leave(delete_post(post_id, by=request.user))
    messages.success(request, _("Deleted."))
    return SeeOther("/" if str(post_id) in back else back)


def _form(request: MemberVisit, *args: Any, **kwargs: Any) -> ComposeForm:
    return ComposeForm(
        *args, author=request.user, circles=circles_to_post_to(request.user.pk), **kwargs
    )


def _composer(
    request: MemberVisit, form: ComposeForm, *, status: int = 200, refusal: Refusal | None = None
) -> HttpResponse:
    context: dict[str, Any] = {
        "parent": _item_of(request, form["reply_to"].value(), strict=status == 200),
        "quoted": _item_of(request, form["quote"].value(), strict=status == 200),
        "no_fab": True,
        **composer_context(form),
    }
    parent: FeedItem | None = context["parent"]
    if parent is not None and parent.post.circle_id is not None:
        form.answer_in_circle(parent.post.circle_id, parent.circle_name)
    if parent:
        form.fields["body"].widget.attrs["placeholder"] = _("Your reply")
    response = render(request, "timeline/compose.html", context, status=status)
    if isinstance(refusal, TooMany):
        response.headers["Retry-After"] = str(refusal.retry_after)
    return response


def _item_of(request: MemberVisit, text: str | None, *, strict: bool = True) -> FeedItem | None:
    """The post of an id in a query or a form; when not strict, None for one that is gone."""
    if not text:
        return None
    try:
        post_id = Cursor.from_query({"max_id": text}).max_id or 0
        return one_item(request.user.pk, post_id).shown
    except Refusal:
        if strict:
            raise
        return None


def _own(request: MemberVisit, post_id: int) -> FeedItem:
    item = one_item(request.user.pk, post_id)
    if not item.flags.own or item.is_repost:
        raise NotFound(_("This post isn't here."))
    return item


def _answer_to(parent: FeedItem, viewer_id: int) -> dict[str, Any]:
    """An answer names whom it answers, and starts with the reach of what it answers."""
    own = parent.author.pk == viewer_id
    circle_id = parent.post.circle_id
    return {
        "body": "" if own else f"@{parent.author.handle} ",
        "visibility": f"{CIRCLE_PREFIX}{circle_id}" if circle_id else parent.post.visibility,
    }
