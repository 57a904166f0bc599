"""Model fields for ids of posts. Their lookups also compare the author, because posts are sharded by author.

An id contains its author, so the condition `WHERE id = 1 AND author_id = 2` can be built from the id alone. With this
condition, PostgreSQL reads only one shard on a distributed site (`manage distribute`), and uses the primary key on
other sites. With these fields, the ORM adds the author to `=`, `IN`, joins and correlated subqueries; hand-written SQL
must name the author itself.
"""

from typing import TYPE_CHECKING, Any, TypeVar

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.expressions import Col
from django.db.models.fields.related_lookups import RelatedExact, RelatedIn
from django.db.models.lookups import Exact, In
from django.db.models.sql.compiler import SQLCompiler

from feedcache.ids import author_of

# the types that the field accepts and returns, named as mypy's plugin expects
_ST = TypeVar("_ST")
_GT = TypeVar("_GT")
if TYPE_CHECKING:
    Number = models.BigIntegerField
else:

    class Number(models.BigIntegerField):
        """Django's class, with type parameters that only the type checker uses."""

        def __class_getitem__(cls, _types: Any) -> type["Number"]:
            return cls


class _ByAuthor:
    """A lookup that adds the author to the id, if the model has a column for the author."""

    lhs: Any
    rhs: Any

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> Any:
        """The SQL of the condition, and its values."""
        sql, params = super().as_sql(compiler, connection)  # type: ignore[misc]  # the lookup class has it
        author = _author_column(self.lhs, compiler)
        if author and isinstance(self.rhs, Col):
            if other := _author_column(self.rhs, compiler):
                return f"({sql} AND {author} = {other})", params
        elif author and isinstance(self.rhs, int):
            return f"({sql} AND {author} = %s)", [*params, author_of(self.rhs)]
        elif author and isinstance(self.rhs, (list, tuple, set, frozenset)):
            authors = sorted({author_of(one) for one in self.rhs if isinstance(one, int)})
            return f"({sql} AND {author} = ANY(%s))", [*params, authors]
        return sql, params


def _author_column(column: Any, compiler: SQLCompiler) -> str:
    """The column of the author that belongs to a column of post ids, as SQL; "" for other columns."""
    name = getattr(getattr(column, "target", None), "author_column", "")
    if not name:
        return ""
    quote = compiler.connection.ops.quote_name
    return f"{compiler.quote_name_unless_alias(column.alias)}.{quote(name)}"


class _Exact(_ByAuthor, Exact):
    pass


class _In(_ByAuthor, In):
    pass


class _RelatedExact(_ByAuthor, RelatedExact):
    pass


class _RelatedIn(_ByAuthor, RelatedIn):
    pass


class PostId(Number[_ST, _GT]):
    """The primary key of posts."""

    author_column = "author_id"


class _OfPost(models.ForeignKey[_ST, _GT]):
    author_column = "author_id"

    def get_extra_restriction(self, alias: str, related_alias: str) -> Any:
        """Make joins compare the authors too, because all rows of an author are on one server."""
        here = _column(self.model, self.author_column, related_alias)
        there = _column(self.remote_field.model, PostId.author_column, alias)
        return Exact(there, here)


def _column(model: type[models.Model], attname: str, alias: str) -> Col:
    [field] = [one for one in model._meta.concrete_fields if one.attname == attname]
    return Col(alias, field, models.BigIntegerField())


class PostKey(_OfPost[_ST, _GT]):
    """A foreign key to a post, for rows on the server of the post. The model also needs an `AuthorOfPost` field."""


class OnePostKey(_OfPost[_ST, _GT], models.OneToOneField[_ST, _GT]):
    """Like `PostKey`, for models with one row per post."""


PostId.register_lookup(_Exact)
PostId.register_lookup(_In)
_OfPost.register_lookup(_RelatedExact)
_OfPost.register_lookup(_RelatedIn)


class AuthorOfPost(Number[int, int]):
    """The author of the post that a row belongs to, set when Django saves a row.

    In a row with an `owner`, such as an upload that is not yet part of a post, the field contains the owner.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"editable": False, **options})

    def pre_save(self, model_instance: Any, add: bool) -> int:  # noqa: FBT001 -- Django's interface
        owner_id: int | None = getattr(model_instance, "owner_id", None)
        author_id = owner_id or author_of(model_instance.post_id)
        setattr(model_instance, self.attname, author_id)
        return author_id
