"""The composer: new posts with pictures and polls, published now or scheduled."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.html import escape
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect, reswap, retarget, trigger_client_event

from apps.errors import DomainError, NotFound, TooMany, Unavailable
from apps.graph.groups.queries import circles_to_post_to
from apps.http.requests import AuthenticatedRequest, SeeOther, login_required, next_url
from apps.pagination import Cursor
from apps.posts.actions.idempotency import Request, existing_result
from apps.posts.actions.schedule import schedule_post
from apps.posts.actions.uploads import uploaded_picture, uploaded_pictures, withdraw_picture
from apps.posts.content.text import RAW_MAX_CHARACTERS
from apps.posts.models import Attachment, Post, ScheduledPost, Visibility
from apps.posts.queries import mentions_of
from apps.posts.saved_drafts import delete_draft, saved_draft
from apps.timeline import publishing
from apps.timeline.pipeline.items import FeedItem
from apps.timeline.thread import ReplyRow, visible_item
from apps.web.forms.accounts import add_errors
from apps.web.forms.pictures import (
    DisplayedPicture,
    PictureFields,
    PictureForm,
    UploadedPicture,
    id_or_none,
    ids_in,
    save_pictures,
)
from apps.web.forms.posts import (
    CIRCLE_PREFIX,
    FIELD_NAMES,
    HOME_COMPOSER,
    ComposeForm,
    composer_context,
)
from apps.web.posts.threads import Interrupted, check_rest, data_of_rest, publish_rest
from apps.web.templatetags.amounts import moment

AnyPost = Post | ScheduledPost
LINKS = ("reply_to", "quote")
WRITING = "writing"  # the id of the composer in a dialog, also used by scripts
HOME_PAGES = ("/", "/home")
TEMPLATES = {
    "": "timeline/compose.html",
    HOME_COMPOSER: "timeline/_home_composer.html",
    WRITING: "timeline/_writing_composer.html",
}
REPLY = "timeline/_reply.html"


@require_safe
@login_required
def compose(request: AuthenticatedRequest) -> HttpResponse:
    """A page with only the composer; an htmx request gets a dialog, or a reply's composer to insert below its post."""
    if number := request.GET.get("saved"):
        return _continue(request, number)
    initial = {name: request.GET.get(name, "") for name in ("reply_to", "quote")}
    if request.GET.get("to"):
        initial["body"] = f"@{request.GET['to'][:100]} "
    elif shared_text := _shared_text(request):
        initial["body"] = shared_text
    if parent := item_of(request, initial["reply_to"]):
        initial |= _initial_reply(parent, request.user.pk)
    return composer(request, form_of(request, initial=initial), PictureFields())


def _continue(request: AuthenticatedRequest, number: str) -> HttpResponse:
    """The composer with a saved draft."""
    row = saved_draft(request.user, id_or_none(number))
    circle_ids = {circle.id for circle in circles_to_post_to(request.user)}
    initial = ComposeForm.initial_of_saved(row, circle_ids)
    behind = [number for text in row.fields.get("more_media", ()) for number in ids_in(text)]
    rows = uploaded_pictures(request.user, row.media_ids)
    pictures = PictureFields(rows, behind=frozenset(behind))
    return composer_of_draft(request, initial, pictures)


def composer_of_draft(
    request: AuthenticatedRequest, initial: dict[str, Any], pictures: PictureFields
) -> HttpResponse:
    """The composer with a draft. References to posts that the viewer can no longer see are dropped."""
    gone = [
        name
        for name in LINKS
        if initial[name] and not item_of(request, initial[name], strict=False)
    ]
    form = form_of(request, initial={**initial, **dict.fromkeys(gone, "")})
    note = _(
        "The post that this one replies to or quotes no longer exists. This post will be published without it."
    )
    return composer(request, form, pictures, note=note if gone else "")


@require_POST
@login_required
def publish(request: AuthenticatedRequest) -> HttpResponseBase:
    """Publish or schedule a post; after an error, the form still contains the text and the uploaded pictures."""
    form, picture_form = form_of(request, request.POST), PictureForm.of(request)
    # buttons that only change the form: they take out a picture, or add a post to the thread
    if "take_out" in request.POST or "add_another" in request.POST:
        remaining = without_removed(request, picture_form)
        return composer(request, form, save_pictures(request.user, remaining))
    pictures = None
    try:
        post = _existing_post(request, form, picture_form) if form.is_valid() else None
        if post is None:
            pictures = save_pictures(request.user, picture_form)
            pictures.raise_error()
            if not form.is_valid() or _should_ask(request, pictures):
                return composer(request, form, pictures, status=422, asks=form.is_valid())
            post = _publish(request, form, picture_form, pictures)
    except DomainError as error:
        pictures = pictures or save_pictures(request.user, picture_form)
        add_errors(form, error, FIELD_NAMES)
        return _refused(request, form, pictures, error)
    return _finish(request, form, post)


def _finish(request: AuthenticatedRequest, form: ComposeForm, post: AnyPost) -> HttpResponseBase:
    """Publish the rest of a thread, then delete the saved draft."""
    try:
        posts = publish_rest(request.user, form, post) if isinstance(post, Post) else [post]
    except Interrupted as stop:
        form = form_of(request, data_of_rest(request.POST, stop))
        form.add_error(None, stop.account)
        ids = [number for left in stop.left for number in left.media_ids]
        behind = frozenset(ids[len(stop.left[0].media_ids) :])
        pictures = PictureFields(uploaded_pictures(request.user, ids), behind=behind)
        return _refused(request, form, pictures, stop.error)
    if (number := form.cleaned_data["saved"]) is not None:
        delete_draft(request.user, number)
    return _created(request, posts)


def _refused(
    request: AuthenticatedRequest, form: ComposeForm, pictures: PictureFields, error: DomainError
) -> HttpResponse:
    status = 422 if request.htmx else error.status  # htmx swaps in a form only for 422
    return _with_retry_after(composer(request, form, pictures, status=status), error)


@require_POST
@login_required
def upload(request: AuthenticatedRequest) -> HttpResponse:
    """Upload a picture for a post that is being written, and return its fields for the composer."""
    file = request.FILES.get("file")
    if file is None:
        raise NotFound(_("There is no such picture."))
    pictures = PictureFields().upload(request.user, [UploadedPicture(file)])
    if (error := pictures.error) is not None:
        response = HttpResponse(
            error.message, status=error.status, content_type="text/plain; charset=utf-8"
        )
        return _with_retry_after(response, error)
    return _upload_fields(request, pictures.rows[0])


@require_safe
@login_required
def uploaded(request: AuthenticatedRequest, number: int) -> HttpResponse:
    """The composer fields of an uploaded picture, for a draft that the browser restores."""
    row = uploaded_picture(request.user, number)
    if {row.post_id, row.scheduled_id, row.past_post_id} != {None}:
        raise NotFound(_("There is no such picture."))
    return _upload_fields(request, row)


def _upload_fields(request: AuthenticatedRequest, row: Attachment) -> HttpResponse:
    return render(request, "timeline/_upload.html", {"upload": DisplayedPicture.of(row)})


def _shared_text(request: AuthenticatedRequest) -> str:
    """The text from the device's share menu; parts contained in other parts are left out."""
    parts = [request.GET.get(name, "").strip() for name in ("title", "text", "url")]
    parts = list(dict.fromkeys(filter(None, parts)))
    distinct = [
        part for part in parts if not any(part in other for other in parts if other != part)
    ]
    return "\n".join(distinct)[:RAW_MAX_CHARACTERS]


def _existing_post(
    request: AuthenticatedRequest, form: ComposeForm, picture_form: PictureForm
) -> AnyPost | None:
    """The post of an earlier request with the same form, looked up so that the files are not processed again."""
    key = form.cleaned_data["idempotency_key"]
    result = existing_result(
        Request(request.user, key, form.draft(), form.at, picture_form.identity)
    )
    return (result.post or result.scheduled) if result else None


def _publish(
    request: AuthenticatedRequest,
    form: ComposeForm,
    picture_form: PictureForm,
    pictures: PictureFields,
) -> AnyPost:
    check_rest(request.user, form, pictures.ids)
    draft = form.draft().with_pictures(pictures.ids)
    idempotency: dict[str, Any] = {
        "idempotency_key": form.cleaned_data["idempotency_key"],
        "content_digest": picture_form.identity,
    }
    if (failed_id := form.cleaned_data["instead_of"]) is not None:
        return publishing.publish_instead(request.user, failed_id, draft, at=form.at, **idempotency)
    if form.at is not None:
        return schedule_post(request.user, draft, form.at, **idempotency)
    return publishing.publish(request.user, draft, **idempotency).post


def _created(request: AuthenticatedRequest, posts: Sequence[AnyPost]) -> HttpResponseBase:
    post = posts[0]
    draft = request.POST.get("draft", "")
    if isinstance(post, ScheduledPost):
        message = escape(_("It will be published on %(moment)s."))
        time = moment(post.scheduled_at)
        text = mark_safe(message % {"moment": time})  # noqa: S308 -- both are escaped
        messages.success(request, text, extra_tags=draft)
        return HttpResponseClientRedirect("/scheduled") if request.htmx else SeeOther("/scheduled")
    said = _said_of(post)
    if len(posts) > 1:
        said = _("%(count)d posts have been published.") % {"count": len(posts)}
    if request.htmx:
        return _insert(request, [one.pk for one in posts], {"text": said, "draft": draft})
    messages.success(request, said, extra_tags=draft)
    permalink = f"{request.user.url}/{post.pk}"
    url = next_url(request, permalink)
    return SeeOther(permalink if url == permalink else f"{url}#p{post.pk}")


def _said_of(post: Post) -> str:
    if post.visibility == Visibility.MENTIONED and {*mentions_of(post).values()} <= {
        post.author_id
    }:
        # the author may have forgotten to mention anybody
        return _("Posted. It mentions nobody, so nobody else can read it.")
    return _("Posted.")


def _insert(
    request: AuthenticatedRequest, post_ids: Sequence[int], detail: dict[str, str]
) -> HttpResponse:
    """Insert posts at the top of home or below the post that they reply to; elsewhere, send only a message."""
    items = [visible_item(request.user.pk, post_id) for post_id in reversed(post_ids)]
    item = items[-1]
    inline = _inline_id(request)
    if inline == WRITING:
        if request.htmx.current_url_abs_path not in HOME_PAGES:
            detail |= {"link": item.url, "see": _("View")}
            return trigger_client_event(HttpResponse(status=204), "posted", detail)
        response = reswap(
            render(request, "timeline/_inserted.html", {"items": items}), "afterbegin"
        )
        return trigger_client_event(retarget(response, "#feed"), "posted", detail, after="settle")
    if inline == HOME_COMPOSER:
        form = form_of(request)
        form.fields["body"].widget.attrs["autofocus"] = True
        context = {"items": items, "inline": HOME_COMPOSER, **composer_context(form)}
        response = reswap(render(request, "timeline/_posted.html", context), "afterbegin")
        # trigger the event on receipt: the script deletes the draft, which the new composer would otherwise restore
        return trigger_client_event(retarget(response, "#feed"), "posted", detail, after="receive")
    context = {
        "rows": [ReplyRow(item, in_thread=True, joined=False, folded=0)],
        "focus_position": 1,
    }
    response = reswap(render(request, "timeline/_rows.html", context), "afterend")
    return trigger_client_event(
        retarget(response, "closest .post"), "posted", detail, after="settle"
    )


def _should_ask(request: AuthenticatedRequest, pictures: PictureFields) -> bool:
    """Whether to ask, once, for missing picture descriptions."""
    return (
        bool(pictures.undescribed)
        and request.user.asks_for_alt
        and "without_alt" not in request.POST
    )


def without_removed(request: AuthenticatedRequest, form: PictureForm) -> PictureForm:
    """Delete the upload that the author wants to remove, if any, and return the form without it."""
    ids = {str(change.id): change.id for change in form.changes}
    picture_id = ids.get(request.POST.get("take_out", ""))
    if picture_id is None:
        return form
    # with `instead_of` the picture belongs to the failed post until that post is replaced
    if not request.POST.get("instead_of"):
        with suppress(NotFound):
            withdraw_picture(request.user, picture_id)
    return form.without(picture_id)


def form_of(request: AuthenticatedRequest, *args: Any, **kwargs: Any) -> ComposeForm:
    """The viewer's compose form, with the circles that they may post to."""
    circles = circles_to_post_to(request.user)
    auto_id = f"{_inline_id(request)}_%s" if request.htmx else "id_%s"
    return ComposeForm(*args, author=request.user, circles=circles, auto_id=auto_id, **kwargs)


def _inline_id(request: AuthenticatedRequest) -> str:
    """The id of a composer, unique on a page with several; the ids of its fields begin with it."""
    if request.htmx.target in (HOME_COMPOSER, WRITING):
        return str(request.htmx.target)
    post_id = request.POST.get("reply_to") or request.GET.get("reply_to", "")
    return f"reply{post_id}" if post_id.isalnum() else "reply"


def _with_retry_after(response: HttpResponse, error: DomainError) -> HttpResponse:
    if isinstance(error, TooMany | Unavailable):
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def composer(
    request: AuthenticatedRequest,
    form: ComposeForm,
    pictures: PictureFields,
    *,
    status: int = 200,
    asks: bool = False,
    note: str = "",
) -> HttpResponse:
    """A page with `note` above the composer; for htmx, the form or dialog. `asks`: ask for picture descriptions."""
    strict = status == 200
    parent = item_of(request, form["reply_to"].value(), strict=strict)
    quoted = item_of(request, form["quote"].value(), strict=strict)
    if parent is not None and parent.post.circle_id is not None:
        form.answer_in_circle(parent.post.circle_id, parent.circle_name)
    if parent:
        form.fields["body"].widget.attrs["placeholder"] = _("Your reply")
    inline = _inline_id(request) if request.htmx else ""
    context: dict[str, Any] = {
        "parent": parent,
        "quoted": quoted,
        "missing": _missing_descriptions(pictures) if asks else "",
        "inline": inline,
        "draft_key": request.POST.get("draft") or _draft_key(form),
        "note": note,
        "opens": request.GET.get("with", ""),
        "another": "add_another" in request.POST,
        "more": [(post.text, pictures.displayed(post.media_ids)) for post in form.more],
        **composer_context(form, pictures.displayed(pictures.ids)),
    }
    template = TEMPLATES.get(inline, REPLY)
    if inline == WRITING and request.method == "GET":
        template = "timeline/_writing.html"
    return render(request, template, context, status=status)


def _draft_key(form: ComposeForm) -> str:
    """The key of the draft in the browser's storage; empty if the browser stores none."""
    if form["instead_of"].value():
        return ""
    if number := form["saved"].value():
        return f"saved:{number}"
    for name in ("reply_to", "quote"):
        if post_id := form[name].value():
            return f"{name.removesuffix('_to')}:{post_id}"
    return "new"


def _missing_descriptions(pictures: PictureFields) -> str:
    return ngettext(
        "%(count)d picture has no description.",
        "%(count)d pictures have no description.",
        pictures.undescribed,
    ) % {"count": pictures.undescribed}


def item_of(
    request: AuthenticatedRequest, text: str | None, *, strict: bool = True
) -> FeedItem | None:
    """The post whose id is in a query or form; None if there is no id or, unless `strict`, no visible post has it."""
    if not text:
        return None
    try:
        post_id = Cursor.from_query({"max_id": text}).max_id or 0
        return visible_item(request.user.pk, post_id).shown
    except DomainError:
        if strict:
            raise
        return None


def _initial_reply(parent: FeedItem, viewer_id: int) -> dict[str, Any]:
    """The initial values of a reply: a mention of the parent's author, if somebody else, and the audience."""
    is_own = parent.author.pk == viewer_id
    circle_id = parent.post.circle_id
    return {
        "body": "" if is_own else f"@{parent.author.handle} ",
        "visibility": f"{CIRCLE_PREFIX}{circle_id}" if circle_id else parent.post.visibility,
    }
