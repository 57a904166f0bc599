"""All settings; values that differ between installations come from the environment.

`./run` sets the environment for its own servers, and docker-compose.yml for containers.
"""

import ssl
import sys
from pathlib import Path
from typing import Any

from django.utils.translation import gettext_lazy as _

from feedsite import __version__
from feedsite.databases import connection_limited_to
from feedsite.environment import Environment, postgresql_options, relying_party, tls_files
from feedsite.files.storage import storages_of
from feedsite.server.schedules import EVERY, every

VERSION = __version__
BASE_DIR = Path(__file__).resolve().parent.parent
env = Environment()

# --- the site -------------------------------------------------------------------------------------
SITE_NAME = env.str("SITE_NAME", "Rill")  # shown in titles, e-mails and authenticator apps
# The address that people type, without a path. If the host changes, passkeys stop working.
SITE_URL = env.str("SITE_URL", "http://127.0.0.1:8000").rstrip("/")
# The contact for reports of security holes: a mailto: or https: address.
SECURITY_CONTACT = env.str("SECURITY_CONTACT", f"{SITE_URL}/about")
# Signs sessions, tickets and links; at least 50 random characters. Changing it logs everybody out.
SECRET_KEY = env.str("SECRET_KEY")
# Older keys that are still accepted when signatures are verified.
SECRET_KEY_FALLBACKS = env.list("SECRET_KEY_FALLBACKS", default=[])
# The Ed25519 key that signs the downloadable receipts of pages: 32 bytes in base64. Empty: they are not signed.
PAGE_SIGNING_KEY = env.str("PAGE_SIGNING_KEY", "")
# The P-256 key that signs push messages to people's devices: 32 bytes in base64url. Empty: no messages are sent.
VAPID_PRIVATE_KEY = env.str("VAPID_PRIVATE_KEY", "")
DEBUG = env.bool("DEBUG", False)  # shows Django's error pages; for development only
DEMO = env.bool("DEMO", False)  # shows a guided tour on the home page
# With 1, feedsite.checks refuses settings that are unsafe in production; 0 is only for tests and `./run`.
PRODUCTION = env.bool("PRODUCTION", True)
# The host names of the site, as browsers send them; requests for other hosts get 400.
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
# Other origins whose forms may post to this site.
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

# All optional apps, with their pages, endpoints, admin and tables.
POSSIBLE_APPS = [
    "apps.admin_api",
    "apps.aggregate",
    "apps.console",
    "apps.curation",
    "apps.digest",
    "apps.earlier_posts",
    "apps.feeds",
    "apps.gameday",
    "apps.previews",
    "apps.promotions",
    "apps.push",
    "apps.ranking",
    "apps.second_level",
    "apps.sign_ups",
    "apps.site_activity",
    "apps.spam",
    "apps.strikes",
    "apps.syndication",
    "apps.translation",
    "apps.webhooks",
]
# The optional apps that this site uses; empty: none (docs/optional_apps.md).
OPTIONAL_APPS = env.some_of("OPTIONAL_APPS", POSSIBLE_APPS)
env.refuse("TIMELINE_SECOND_LEVEL", "add apps.second_level to OPTIONAL_APPS, or remove it there.")
env.refuse("RANK_TIMELINE_LENGTH", "RANK_CANDIDATES is the number of posts for all algorithms.")
LEFT_OUT_APPS = set(POSSIBLE_APPS) - set(OPTIONAL_APPS)

# --- apps -----------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "feedsite",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.sitemaps",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "rest_framework",
    "corsheaders",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "oauth2_provider",
    "apps.events",
    "apps.operations",
    "apps.accounts",
    "django_otp",
    "django_otp.plugins.otp_totp",
    "django_otp.plugins.otp_static",
    "django_otp_webauthn",
    "apps.oauth",
    "apps.graph",
    "apps.tags",
    "apps.posts",
    "apps.engagement",
    "apps.filters",
    "apps.timeline",
    "apps.notifications",
    "apps.moderation",
    "apps.search",
    "apps.streaming",
    "apps.audit",
    "apps.privacy",
    "apps.api",
    "apps.web",
    "apps.demo",
    *OPTIONAL_APPS,
]

# API requests skip the middleware between PagesBegin and PagesEnd.
MIDDLEWARE = [
    "feedsite.middleware.request_id.RequestIdMiddleware",
    "apps.http.security_headers.SecurityHeadersMiddleware",
    # above the checks of host and HTTPS, and above load shedding
    "feedsite.monitoring.health.HealthMiddleware",
    "feedsite.middleware.timing.TimingMiddleware",
    # above everything that may refuse a request: browsers need its headers on errors too
    "corsheaders.middleware.CorsMiddleware",
    "apps.http.errors.ProblemTypeMiddleware",
    "django.middleware.security.SecurityMiddleware",
    # above everything expensive: it refuses requests over their limit
    "feedsite.middleware.rate_limits.RateLimitMiddleware",
    # above everything that creates or reads a body: ETags are computed from the uncompressed text
    "feedsite.server.compression.CompressionMiddleware",
    "feedsite.middleware.PagesBegin",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",  # above middleware that refuses requests: the policy is also for error pages
    "feedsite.middleware.PagesEnd",
    "feedsite.middleware.load_shedding.LoadSheddingMiddleware",
    "feedsite.middleware.etag.ETagMiddleware",
    "feedsite.middleware.deadline.DeadlineMiddleware",
    "feedsite.middleware.outage.OutageMiddleware",
    "feedsite.middleware.text_validation.TextValidationMiddleware",
    "feedsite.middleware.trailing_slash.TrailingSlashMiddleware",
    "django.middleware.common.CommonMiddleware",
    "feedsite.middleware.read_your_writes.ReadYourWritesMiddleware",
    "feedsite.middleware.cache_headers.CacheHeadersMiddleware",
    "feedsite.middleware.locale.RequestLocaleMiddleware",
    "feedsite.middleware.PagesBegin",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "apps.http.authentication.SessionUserMiddleware",
    "apps.http.staff_zone.StaffZoneMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "feedsite.middleware.PagesEnd",
    "apps.http.errors.DomainErrorMiddleware",
]

ROOT_URLCONF = "feedsite.urls"
APPEND_SLASH = False  # see feedsite.middleware.trailing_slash

_TEMPLATE_LOADERS = ["feedsite.templates.Loader", "django.template.loaders.app_directories.Loader"]
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "loaders": (
                _TEMPLATE_LOADERS  # templates are reloaded when they change
                if DEBUG
                else [("django.template.loaders.cached.Loader", _TEMPLATE_LOADERS)]
            ),
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "apps.web.context.site",
                "apps.web.context.unread",
            ],
        },
    },
]

# --- load of a web process ------------------------------------------------------------------------
# The time limit for building a page; sources that take longer are left out.
REQUEST_BUDGET_SECONDS = env.float("REQUEST_BUDGET_SECONDS", 0.8)
WEB_CONCURRENCY = {
    # How many core reads (`apps.http.interfaces`) a process handles at the same time. Together with
    # WEB_WRITES_CONCURRENCY and WEB_REST_CONCURRENCY, this should not exceed DATABASE_POOL_MAX.
    "core": env.int("WEB_CONCURRENCY", 4),
    # How many writes a process handles at the same time; see WEB_CONCURRENCY.
    "writes": env.int("WEB_WRITES_CONCURRENCY", 3),
    # How many other requests a process handles at the same time; see WEB_CONCURRENCY.
    "rest": env.int("WEB_REST_CONCURRENCY", 2),
}
WEB_QUEUE = {
    # How many core reads may wait; further ones get 503. The default holds the requests that arrive in a quarter
    # of a second at 100 core reads per second.
    "core": env.int("WEB_QUEUE", 24),
    # How many writes may wait; further ones get 503.
    "writes": env.int("WEB_WRITES_QUEUE", 12),
    # How many other requests may wait; further ones get 503.
    "rest": env.int("WEB_REST_QUEUE", 12),
}
# How long a request may wait; after that it gets 503.
WEB_QUEUE_SECONDS = env.float("WEB_QUEUE_SECONDS", 0.5)
# A request whose body takes longer to arrive gets 408. The request counts towards WEB_CONCURRENCY only after its body
# has been read.
BODY_SECONDS = env.float("BODY_SECONDS", 20.0)
# Uploads of pictures and videos get additional time: the size of the body divided by this rate.
UPLOAD_BYTES_PER_SECOND = env.int("UPLOAD_BYTES_PER_SECOND", 32 * 1024)

# --- PostgreSQL: the source of truth --------------------------------------------------------------
# postgres://user:password@host:port/name; for TLS append ?sslmode=verify-full&sslrootcert=/path.pem
DATABASES: dict[str, Any] = {"default": env.db("DATABASE_URL")}
# Django's engine, with a test of pooled connections, which may have been closed by a restart of the server.
DATABASES["default"]["ENGINE"] = "feedsite.postgresql"
DATABASES["default"]["CONN_MAX_AGE"] = 0  # the pool allows nothing else
# Set this to "transaction" behind PgBouncer in transaction mode. Connections then keep no session state, so
# `manage.py migrate` sets the timeouts on the role.
DATABASE_POOLER = env.str("DATABASE_POOLER", "")
DATABASE_TIMEOUTS = {
    # The time limit of each statement; migrations have none.
    "statement_timeout": env.int("DATABASE_STATEMENT_TIMEOUT_MS", 30_000),
    "lock_timeout": 10_000,
    "idle_in_transaction_session_timeout": 60_000,
}
DATABASES["default"]["DISABLE_SERVER_SIDE_CURSORS"] = True  # they would outlive their transaction
# A connection whose server has vanished without closing it ends after 8 s; by itself the system would wait for 15 min.
_TCP = {"connect_timeout": 5, "keepalives_idle": 5, "keepalives_interval": 2, "tcp_user_timeout": 8_000}  # fmt: skip
DATABASES["default"]["OPTIONS"] = {
    **_TCP,
    **DATABASES["default"].get("OPTIONS", {}),
    "pool": {
        # Minimum number of open connections per process.
        "min_size": env.int("DATABASE_POOL_MIN", 1),
        # Maximum number of connections per process. The total of all processes must stay below PostgreSQL's
        # max_connections.
        "max_size": env.int("DATABASE_POOL_MAX", 12),
        # How long a request waits for a connection; after that it gets 503.
        "timeout": env.float("DATABASE_POOL_TIMEOUT_SECONDS", 2.0),
    },
}
if not DATABASE_POOLER:
    DATABASES["default"]["OPTIONS"]["options"] = postgresql_options(DATABASE_TIMEOUTS)
# The address that `manage.py migrate` uses: PostgreSQL itself instead of the pooler, with the role that owns the
# tables if it is not the site's.
MIGRATIONS_DATABASE_URL = env.str("MIGRATIONS_DATABASE_URL", "")
# How long a migration waits for a lock, in each of MIGRATIONS_LOCK_ATTEMPTS attempts. Requests for the same table have
# to wait as well, so keep it short.
MIGRATIONS_LOCK_TIMEOUT_MS = env.int("MIGRATIONS_LOCK_TIMEOUT_MS", 1_000)
# How many times `migrate` tries to get a lock before it fails.
MIGRATIONS_LOCK_ATTEMPTS = env.int("MIGRATIONS_LOCK_ATTEMPTS", 40)


def _as_default(url: str, **pool: Any) -> dict[str, Any]:
    """Another database, with the options of the default database in addition to those in its URL."""
    given, default = env.db_url_config(url), DATABASES["default"]
    options = {**default["OPTIONS"], **given.pop("OPTIONS", {})}
    options["pool"] = {**options["pool"], **pool}
    return {**default, **given, "ENGINE": default["ENGINE"], "OPTIONS": options}


# The addresses of databases for readers' replicas of posts. Their aliases are shard1, shard2 and so on.
for _number, _url in enumerate(env.list("TIMELINE_SHARD_URLS", default=[]), start=1):
    DATABASES[f"shard{_number}"] = _as_default(_url)
REPLICA_DATABASES: list[str] = []
# How long a query to a replica may take. After that the primary is queried, and the replica is not used for a while.
# Must be longer than SEARCH_SECONDS; otherwise slow searches count as failures of the replica.
REPLICA_TIMEOUT_SECONDS = env.float("REPLICA_TIMEOUT_SECONDS", 3.5)
# Streaming replicas of the default database. Their aliases are replica1, replica2 and so on.
for _number, _url in enumerate(env.list("REPLICA_DATABASE_URLS", default=[]), start=1):
    REPLICA_DATABASES.append(f"replica{_number}")
    # A page that waits for a lost replica queries the primary after `timeout`.
    _limited = connection_limited_to(REPLICA_TIMEOUT_SECONDS)
    DATABASES[f"replica{_number}"] = _as_default(_url, timeout=0.5, connection_class=_limited)
# Replicas that are further behind the primary are not read.
REPLICA_MAX_LAG_SECONDS = env.float("REPLICA_MAX_LAG_SECONDS", 10.0)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Redis and Memcached: everything in them can be lost ------------------------------------------
# The Redis for timelines, and for all data that has no separate server below.
REDIS_URL = env.str("REDIS_URL")
# Replicas for reads of authors' recent posts, which have a revision that shows whether a copy is stale.
REDIS_TIMELINES_REPLICA_URLS = env.list("REDIS_TIMELINES_REPLICA_URLS", default=[])
# Each class of data may have a separate server, or be on a Redis Cluster: redis+cluster://host:port,host:port. Only
# counters cannot use a Cluster; `manage counters move` spreads them over several servers. All may use TLS: rediss://host:port/0.
REDIS_TLS_FILES = tls_files(env, "REDIS")
REDIS_GRAPH_URL = env.str("REDIS_GRAPH_URL", REDIS_URL)  # the Redis for relations
# Replicas of REDIS_GRAPH_URL, for reads.
REDIS_GRAPH_REPLICA_URLS = env.list("REDIS_GRAPH_REPLICA_URLS", default=[])
REDIS_COUNTERS_URL = env.str("REDIS_COUNTERS_URL", REDIS_URL)  # the Redis for counters
REDIS_EXISTENCE_URL = env.str("REDIS_EXISTENCE_URL", REDIS_URL)  # the Redis for existence filters
REDIS_LIMITS_URL = env.str("REDIS_LIMITS_URL", REDIS_URL)  # the Redis for rate limits
# The Redis for Django's cache, which no page uses.
REDIS_CACHE_URL = env.str("REDIS_CACHE_URL", REDIS_URL)
# The Redis for pub/sub messages.
REDIS_BROADCAST_URL = env.str("REDIS_BROADCAST_URL", REDIS_CACHE_URL)
# A slower response counts as a miss.
REDIS_TIMEOUT_SECONDS = env.float("REDIS_TIMEOUT_SECONDS", 0.5)
# A slower response counts as a miss.
MEMCACHED_TIMEOUT_SECONDS = env.float("MEMCACHED_TIMEOUT_SECONDS", 0.05)
# A node that takes longer to acknowledge a write loses all its values, because some may be outdated. If this is shorter
# than MEMCACHED_TIMEOUT_SECONDS, that one applies.
MEMCACHED_WRITE_TIMEOUT_SECONDS = env.float("MEMCACHED_WRITE_TIMEOUT_SECONDS", 0.5)
# The nodes of Main, one for each slot: host:port or unix:/path. If the list is empty, PostgreSQL answers every read.
# These settings are only the initial topology: staff can change it in the admin or with `manage cache`, without a
# restart.
MEMCACHED_URLS = env.list("MEMCACHED_URLS", default=[])
MEMCACHED_BACKUP_URLS = env.list("MEMCACHED_BACKUP_URLS", default=[])  # the nodes of Backup
MEMCACHED_L1_URLS = [  # the nodes of L1; "," separates nodes, ";" groups
    group.split(",") for group in env.str("MEMCACHED_L1_URLS", "").split(";") if group
]
# Memory of each Main node, as in its option -m.
MEMCACHED_MAIN_MEGABYTES = env.int("MEMCACHED_MAIN_MEGABYTES", 64)
# Memory of each Backup node; together they should have at most half as much as Main.
MEMCACHED_BACKUP_MEGABYTES = env.int("MEMCACHED_BACKUP_MEGABYTES", 64)
# Memory of each L1 node; a group should have a tenth to a sixth of the memory of Main.
MEMCACHED_L1_MEGABYTES = env.int("MEMCACHED_L1_MEGABYTES", 16)
# Store loaded values in all L1 groups instead of only in the group that was read.
CACHE_REFILL_ALL_L1 = env.bool("CACHE_REFILL_ALL_L1", False)
# Follow changes to the topology. 0 is only for short-lived tools, which keep the topology that they started with.
CACHE_TOPOLOGY_LISTENS = env.bool("CACHE_TOPOLOGY_LISTENS", True)
# Must differ between sites that share a Memcached.
CACHE_KEY_PREFIX = env.str("CACHE_KEY_PREFIX", "")
CACHES = {
    "default": {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": [REDIS_CACHE_URL],  # a string would be split at the commas between Sentinels
        "KEY_PREFIX": f"{CACHE_KEY_PREFIX}django",
        "OPTIONS": {
            "CONNECTION_FACTORY": "feedsite.caches.CacheConnectionFactory",
            "CONNECTION_POOL_CLASS": "feedcache.redis_clients.CacheConnections",
            "CONNECTION_POOL_KWARGS": {
                "role": "cache",
                **{
                    f"ssl_{name}": path
                    for name, path in REDIS_TLS_FILES.items()
                    if REDIS_CACHE_URL.startswith("rediss")
                },
            },
            "SERIALIZER": "django_redis.serializers.json.JSONSerializer",
            "SOCKET_CONNECT_TIMEOUT": 0.2,
            "SOCKET_TIMEOUT": 0.2,
            "IGNORE_EXCEPTIONS": True,
        },
    },
}
DJANGO_REDIS_LOG_IGNORED_EXCEPTIONS = True

# --- counters -------------------------------------------------------------------------------------
# The period of one bucket of counters. A bucket should contain about a hundred counted posts, and fewer than 512
# (`manage.py counters status` shows how many).
COUNTERS_BUCKET_SECONDS = env.int("COUNTERS_BUCKET_SECONDS", 3600)
# The number of buckets per period, a power of two. Only sites with hundreds of posts a second need more than 1.
COUNTERS_BUCKET_SPLIT = env.int("COUNTERS_BUCKET_SPLIT", 1)
# How many accounts share a bucket of counters.
COUNTERS_USERS_PER_BUCKET = env.int("COUNTERS_USERS_PER_BUCKET", 128)
# Redis always has the counts of posts up to this many days old. Those of older posts are loaded when they are read.
COUNTERS_HOT_DAYS = env.int("COUNTERS_HOT_DAYS", 60)
# How long Redis keeps loaded counts after the last read.
COUNTERS_LOAD_SECONDS = env.int("COUNTERS_LOAD_SECONDS", 3600)
# The counts of posts up to this many days old are continuously compared with the rows that they count.
COUNTERS_RECONCILE_DAYS = env.int("COUNTERS_RECONCILE_DAYS", 7)
# The memory limit for the counts of one range of post ids; 0: no limit.
COUNTERS_MEMORY_LIMIT_BYTES = env.int("COUNTERS_MEMORY_LIMIT_BYTES", 0)

# --- timelines ------------------------------------------------------------------------------------
HOME_WINDOW_LENGTH = env.int("HOME_WINDOW_LENGTH", 800)  # maximum number of entries in a home cache
# How long Redis keeps a home cache after the last read. A reader counts as online while the cache exists.
HOME_WINDOW_TTL_SECONDS = env.int("HOME_WINDOW_TTL_SECONDS", 3 * 24 * 3600)
# Maximum number of entries in an inbox, which contains restricted posts and is kept as long as the home cache.
INBOX_WINDOW_LENGTH = env.int("INBOX_WINDOW_LENGTH", 400)
# How long a page waits for the outboxes of pulled authors before it is built without them.
MERGED_AUTHORS_SECONDS = env.float("MERGED_AUTHORS_SECONDS", 0.25)
# The orders that readers can choose; the first one is the default (docs/feed_algorithms.md).
FEED_ALGORITHMS = env.list(
    "FEED_ALGORITHMS",
    default=[
        "apps.ranking.scoring.light",
        "apps.ranking.scoring.discussed",
        "apps.ranking.scoring.heavy",
        "apps.ranking.scoring.chronological",
    ],
)
RANK_CANDIDATES = env.int("RANK_CANDIDATES", 400)  # how many of the newest posts are scored
RANK_TIMELINE_SECONDS = env.int("RANK_TIMELINE_SECONDS", 3600)  # maximum age of the scores
# How many of the newest posts are scored for one reader after a delivery.
RANK_ITEMS_PER_RUN = env.int("RANK_ITEMS_PER_RUN", 50)
# For how many readers one task scores posts.
RANK_READERS_PER_TASK = env.int("RANK_READERS_PER_TASK", 100)
FANOUT_CHUNK_SIZE = env.int("FANOUT_CHUNK_SIZE", 10_000)  # maximum number of followers per chunk
# While this many posts wait for their delivery to begin, further ones are refused (503).
FANOUT_MAX_WAITING = env.int("FANOUT_MAX_WAITING", 1000)
# Policy `auto`: an author with at least this many followers is pulled if pushing costs more than pulling. The author
# is pushed again when the number of followers falls below 80 % of this setting, or the cost of pushing below 80 % of
# the cost of pulling.
AUTO_PULL_FOLLOWERS = env.int("AUTO_PULL_FOLLOWERS", 100_000)
# Policy `auto`: posts of authors with at most this many followers are pushed to everybody.
AUTO_PUSH_FOLLOWERS = env.int("AUTO_PUSH_FOLLOWERS", 150)
# Where apps.second_level stores timelines older than the home caches: "postgresql", or cassandra://[user:password@]host,host[:9042]/keyspace[?datacenter=dc1&tls=1]
TIMELINE_STORE = env.str("TIMELINE_STORE", "postgresql")
CASSANDRA_TLS_FILES = tls_files(env, "CASSANDRA")
# How long a read waits for Cassandra before PostgreSQL is used.
CASSANDRA_TIMEOUT_SECONDS = env.float("CASSANDRA_TIMEOUT_SECONDS", 0.25)
# How long the timelines of apps.second_level, and readers' replicas of posts, are kept.
TIMELINE_ENTRY_DAYS = env.int("TIMELINE_ENTRY_DAYS", 60)
# Aliases of the databases with readers' replicas of posts, for example default,shard1; empty: no replicas.
TIMELINE_SHARDS = env.list("TIMELINE_SHARDS", default=[])

# --- audit: compares pages with what they should show ---------------------------------------------
# One home page in this many is checked; 0: none.
AUDIT_SAMPLE_RATE = env.int("AUDIT_SAMPLE_RATE", 50)
# How long the auditor waits before it checks a difference again.
AUDIT_GRACE_SECONDS = env.float("AUDIT_GRACE_SECONDS", 5.0)
# Deliveries that take longer count as late.
AUDIT_PROMISE_SECONDS = env.float("AUDIT_PROMISE_SECONDS", 30.0)
# How far back home pages can be shown as they were. Ended follows, mutes and blocks are kept this long.
HOME_HISTORY_DAYS = env.int("HOME_HISTORY_DAYS", 90)
AUDIT_KEEP_DAYS = env.int("AUDIT_KEEP_DAYS", 30)  # how long the auditor's reports are kept
# How long the ids of the readers that a delivery reached are kept; after that, only their number is kept.
RECEIPT_DAYS = env.int("RECEIPT_DAYS", 30)
# How long deliveries and their receipts are kept; the auditor does not check older ones. 0: forever
# (docs/retention.md).
LEDGER_DAYS = env.int("LEDGER_DAYS", 0)
NOTIFICATION_DAYS = env.int("NOTIFICATION_DAYS", 0)  # how long notifications are kept; 0: forever
EVENT_DAYS = env.int("EVENT_DAYS", 3)  # how long handled events are kept

# --- streaming: a separate process, at a separate address -----------------------------------------
# The address that clients connect to: http(s), not ws(s).
STREAMING_URL = env.str("STREAMING_URL", SITE_URL).rstrip("/")
# Maximum number of open streams per process.
STREAMING_CONNECTIONS = env.int("STREAMING_CONNECTIONS", 5000)
# Maximum number of open streams per account.
STREAMING_CONNECTIONS_PER_USER = env.int("STREAMING_CONNECTIONS_PER_USER", 10)
# The time between two heartbeats of a stream.
STREAMING_HEARTBEAT_SECONDS = env.float("STREAMING_HEARTBEAT_SECONDS", 15.0)
# The time between two checks of a stream's token.
STREAMING_CHECK_SECONDS = env.float("STREAMING_CHECK_SECONDS", 15.0)
# A client with more unsent events than this is disconnected.
STREAMING_QUEUE = env.int("STREAMING_QUEUE", 200)

# --- hot authors: every process caches their newest posts --------------------------------------
# The number of followers that makes an author hot.
HOT_AUTHOR_FOLLOWERS = env.int("HOT_AUTHOR_FOLLOWERS", 10_000)
# The number of reads per second in one process that makes an author hot.
HOT_AUTHOR_READS_PER_SECOND = env.int("HOT_AUTHOR_READS_PER_SECOND", 20)
# How outdated the cached posts may be if a message that drops them is lost: 1 to 5 seconds.
HOT_AUTHOR_TTL_SECONDS = env.float("HOT_AUTHOR_TTL_SECONDS", 2.0)
# Maximum number of hot authors per process, with 60 posts each.
HOT_AUTHORS_KEPT = env.int("HOT_AUTHORS_KEPT", 100)

# --- existence filters ----------------------------------------------------------------------------
# 1.2 bytes per record give 1 % false positives, 1.8 bytes give 0.1 %. Changing one of the settings of this section
# starts new filters; PostgreSQL is queried until they are rebuilt.
EXISTENCE_BYTES_PER_RECORD = env.float("EXISTENCE_BYTES_PER_RECORD", 1.2)
EXISTENCE_HASHES = env.int("EXISTENCE_HASHES", 0)  # hashes per record; 0: the optimal number
# The number of records for which one filter is made; with more, it takes more memory.
EXISTENCE_SEGMENT_RECORDS = env.int("EXISTENCE_SEGMENT_RECORDS", 50_000)
# The length of the period whose posts share a filter.
EXISTENCE_SEGMENT_SECONDS = env.int("EXISTENCE_SEGMENT_SECONDS", 7 * 24 * 3600)
# The filters cover posts up to this many days old; for older posts, PostgreSQL is queried.
EXISTENCE_HORIZON_DAYS = env.int("EXISTENCE_HORIZON_DAYS", 90)
# How many days after a post was published its reads are stored; older posts count as unread.
EXISTENCE_READ_HORIZON_DAYS = env.int("EXISTENCE_READ_HORIZON_DAYS", 30)

# --- relations ------------------------------------------------------------------------------------
# How long Redis keeps the relations of an account after the last read.
GRAPH_TTL_SECONDS = env.int("GRAPH_TTL_SECONDS", 7 * 24 * 3600)
# Redis stores the beginning of a list of followers or followees if the list has at least this many entries.
GRAPH_LIST_FROM = env.int("GRAPH_LIST_FROM", 500)
GRAPH_LIST_LENGTH = env.int("GRAPH_LIST_LENGTH", 1000)  # entries of such a list that Redis stores
# Larger sets of followers are not cached; "followed by" then queries PostgreSQL.
GRAPH_MAX_FOLLOWERS = env.int("GRAPH_MAX_FOLLOWERS", 20_000)

# How many accounts one account may follow. The push model needs a limit: each follow adds a delivery for every post,
# and all followees are read in one query.
MAX_FOLLOWEES = env.int("MAX_FOLLOWEES", 7_500)

# The time limit for PostgreSQL in one search or feed. A search for frequent words has to read many posts.
SEARCH_SECONDS = env.float("SEARCH_SECONDS", 3.0)

# --- promotions -----------------------------------------------------------------------------------
# Minimum size of a campaign's segment. Smaller segments get no promoted posts, and their size is not shown.
CAMPAIGN_MIN_PEOPLE = env.int("CAMPAIGN_MIN_PEOPLE", 100)
# How old an account must be before it is shown promoted posts.
PROMOTIONS_AFTER_DAYS = env.int("PROMOTIONS_AFTER_DAYS", 7)

# --- rate limits: maximum numbers within a period -------------------------------------------------
RATE_LIMITS = {  # (number, seconds); docs/settings.md adds the period to each comment
    # Core reads through the API per account (or per application, if there is no account). Writes and other requests
    # have separate limits.
    "api": (env.int("LIMIT_API", 1500), 300),
    # Writes through the API per account or application.
    "api_writes": (env.int("LIMIT_API_WRITES", 900), 300),
    # Other API requests per account or application.
    "api_rest": (env.int("LIMIT_API_REST", 900), 300),
    # Core reads through the API without a valid token per IP address.
    "api_address": (env.int("LIMIT_API_ADDRESS", 600), 300),
    # Writes through the API without a valid token per IP address.
    "api_address_writes": (env.int("LIMIT_API_ADDRESS_WRITES", 600), 300),
    # Other API requests without a valid token per IP address.
    "api_address_rest": (env.int("LIMIT_API_ADDRESS_REST", 600), 300),
    "sign_up": (env.int("LIMIT_SIGN_UP", 30), 1800),  # new accounts per IP address
    # In a wave of unusually many sign-ups, new accounts per network.
    "sign_up_wave": (env.int("LIMIT_SIGN_UP_WAVE", 3), 1800),
    "sign_up_site": (env.int("LIMIT_SIGN_UP_SITE", 1000), 1800),  # new accounts from all addresses
    # Failed guesses of a secret, such as a password, per IP address and name. Successful ones do not count
    # (docs/decisions/0061).
    "log_in": (env.int("LIMIT_LOG_IN", 10), 300),
    "guess_address": (env.int("LIMIT_GUESS_ADDRESS", 30), 300),  # failed guesses per IP address
    # Failed guesses per name from all addresses.
    "guess_account": (env.int("LIMIT_GUESS_ACCOUNT", 50), 3600),
    "guess_site": (env.int("LIMIT_GUESS_SITE", 3000), 300),  # failed guesses from all addresses
    # Failed guesses per known device of the account.
    "guess_device": (env.int("LIMIT_GUESS_DEVICE", 10), 300),
    "publish": (env.int("LIMIT_PUBLISH", 300), 300),  # posts per author
    "search": (env.int("LIMIT_SEARCH", 120), 60),  # searches per account or IP address
    "suggest": (env.int("LIMIT_SUGGEST", 240), 60),  # requests for suggestions per account
    "translate": (env.int("LIMIT_TRANSLATE", 60), 300),  # translations per account
    "card": (env.int("LIMIT_CARD", 60), 60),  # generated pictures of posts per IP address
    "sitemap": (env.int("LIMIT_SITEMAP", 60), 300),  # sitemaps of up to 50,000 lines per IP address
    "upload": (env.int("LIMIT_UPLOAD", 60), 1800),  # uploads per author
    "follow": (env.int("LIMIT_FOLLOW", 400), 3600),  # follows per account
    # Follows from imported files per account.
    "import_follow": (env.int("LIMIT_IMPORT_FOLLOW", 1000), 3600),
    # Interrupted streams resumed with `Last-Event-ID` per account.
    "resume": (env.int("LIMIT_RESUME", 20), 60),
    "collect": (env.int("LIMIT_COLLECT", 200), 3600),  # people added to collections per account
    "report": (env.int("LIMIT_REPORT", 30), 3600),  # reports per account
    # Webhook tests and resent messages per account.
    "webhook": (env.int("LIMIT_WEBHOOK", 60), 3600),
    "check": (env.int("LIMIT_CHECK", 60), 600),  # recomputed pages per account
    "past": (env.int("LIMIT_PAST", 120), 600),  # earlier home pages per account
    "export": (env.int("LIMIT_EXPORT", 3), 24 * 3600),  # archives per account
    "import": (env.int("LIMIT_IMPORT", 10), 24 * 3600),  # imported files per account
    # Password reset e-mails per IP address.
    "password_reset": (env.int("LIMIT_PASSWORD_RESET", 10), 1800),
    # Password reset e-mails per mailbox.
    "password_reset_account": (env.int("LIMIT_PASSWORD_RESET_ACCOUNT", 5), 1800),
    # Password reset e-mails to addresses without an account.
    "password_reset_site": (env.int("LIMIT_PASSWORD_RESET_SITE", 1000), 1800),
    # Other e-mails that strangers can trigger, per mailbox.
    "mail": (env.int("LIMIT_MAIL", 10), 3600),
    "passkey": (env.int("LIMIT_PASSKEY", 60), 300),  # passkey challenges per IP address
    # Registered applications per IP address.
    "register_application": (env.int("LIMIT_REGISTER_APPLICATION", 60), 1800),
}

# --- posts ----------------------------------------------------------------------------------------
POST_MAX_CHARACTERS = 500
PINNED_POSTS_MAX = 5  # per author
# Maximum number of scheduled posts per author.
SCHEDULED_POSTS_MAX = env.int("SCHEDULED_POSTS_MAX", 300)
# A font file for preview images; empty: Noto Sans CJK if it is installed.
CARD_FONT = env.str("CARD_FONT", "")
# Fetch the pages that posts link to, and show previews of them (apps.previews).
LINK_PREVIEWS = env.bool("LINK_PREVIEWS", True)
# The URL of a service with LibreTranslate's API, which translates posts for members (apps.translation). Empty: no
# translations.
TRANSLATE_URL = env.str("TRANSLATE_URL", "")
TRANSLATE_API_KEY = env.str("TRANSLATE_API_KEY", "")  # the key of that service
PICTURE_MAX_BYTES = 16 * 1024 * 1024  # maximum size of an uploaded picture

# --- video and sound (`apps.media.video`) ---------------------------------------------------------
# The name or path of ffmpeg. Empty: the distribution's ffmpeg, or else that of imageio-ffmpeg.
FFMPEG = env.str("FFMPEG", "")
VIDEO_MAX_BYTES = env.int("VIDEO_MAX_MEGABYTES", 40) * 1024 * 1024  # maximum size of an upload
VIDEO_MAX_SECONDS = env.int("VIDEO_MAX_SECONDS", 300)  # maximum duration of an upload
VIDEO_MAX_PIXELS = 3840 * 2160  # per frame of an upload
VIDEO_SIZE = (1920, 1080)  # maximum of the longer and the shorter side of served video
VIDEO_TRANSCODE_SECONDS = env.int("VIDEO_TRANSCODE_SECONDS", 900)  # time limit per upload
VIDEO_CONCURRENCY = env.int("VIDEO_CONCURRENCY", 1)  # uploads transcoded at the same time

# --- moderation -----------------------------------------------------------------------------------
# How many days people can appeal a decision of the moderators.
APPEAL_DAYS = env.int("APPEAL_DAYS", 20)

# --- archives and imports -------------------------------------------------------------------------
EXPORT_KEEP_DAYS = env.int("EXPORT_KEEP_DAYS", 7)  # how long an archive is kept
# Maximum size of the pictures in one archive.
EXPORT_MAX_MEGABYTES = env.int("EXPORT_MAX_MEGABYTES", 4096)
# Maximum size of a file uploaded for an import.
ARCHIVE_MAX_BYTES = env.int("ARCHIVE_MAX_MEGABYTES", 256) * 1024 * 1024
EARLIER_PICTURES_MAX_BYTES = (  # maximum size of all pictures that an account imports from archives
    env.int("EARLIER_PICTURES_MAX_MEGABYTES", 1024) * 1024 * 1024
)
# How long the reports of imports are kept; until then an import can be undone.
IMPORT_KEEP_DAYS = env.int("IMPORT_KEEP_DAYS", 30)
EXPORT_CONCURRENCY = env.int("EXPORT_CONCURRENCY", 2)  # archives built at the same time

# --- Celery: the work is in rows; a lost message only delays it -----------------------------------
# redis://, rediss://, sentinel://host:26379;sentinel://host:26379, or amqp:// and amqps:// for RabbitMQ. The
# broker must never evict keys: do not share it with a cache.
CELERY_BROKER_URL = env.str("CELERY_BROKER_URL")
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_SOFT_TIME_LIMIT = 45
CELERY_TASK_TIME_LIMIT = 50
# Tasks on leased rows must end before the lease does (`apps.events.leases`).
CELERY_TASK_ANNOTATIONS = {
    name: {"soft_time_limit": 20, "time_limit": 25}
    for name in (
        "apps.accounts.tasks.send_mail",
        "apps.digest.tasks.send",
        "apps.events.tasks.dispatch",
        "apps.events.tasks.sweep",
        "apps.privacy.tasks.erase",
        "apps.privacy.tasks.move_in",
        "apps.push.tasks.send",
        "apps.timeline.tasks.publish_due",
        "apps.timeline.tasks.split_backfill",
        "apps.timeline.tasks.split_job",
        "apps.timeline.tasks.deliver_chunk",
        "apps.timeline.tasks.deliver_backfill",
        "apps.timeline.tasks.sweep",
        "apps.webhooks.tasks.send",
    )
}
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 5
CELERY_DB_REUSE_MAX = sys.maxsize  # feedsite.celery returns connections to the pool after each task
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CHANNEL_ERROR_RETRY = True  # workers wait for a full broker instead of ending
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
# The visibility timeout works only with the two `unacked_restore` options: without them kombu checks every 100 s.
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {
    "queue_order_strategy": "priority",
    "visibility_timeout": 60,
    "unacked_restore_interval": 1,
    "unacked_restore_throttle": 1,
    "socket_timeout": 1,  # for a frozen broker; workers wait longer (feedsite.celery)
    "socket_connect_timeout": 1,
    "socket_keepalive": True,
    # otherwise a dead broker would delay each request that enqueues by six seconds
    "max_retries": 0,
    "global_keyprefix": f"{CACHE_KEY_PREFIX}celery:",
}
# The name of the primary, if the broker is behind Sentinels (sentinel://).
if CELERY_BROKER_MASTER := env.str("CELERY_BROKER_MASTER", ""):
    CELERY_BROKER_TRANSPORT_OPTIONS["master_name"] = CELERY_BROKER_MASTER
# Whether to use TLS with the broker. By default the scheme of its address decides; sentinel:// needs this setting.
# Certificates are verified.
CELERY_BROKER_TLS = env.bool(
    "CELERY_BROKER_TLS", CELERY_BROKER_URL.startswith(("rediss://", "amqps://"))
)
CELERY_BROKER_USE_SSL: dict[str, Any] | None = None
CELERY_BROKER_TLS_FILES = tls_files(env, "CELERY_BROKER") or REDIS_TLS_FILES
if CELERY_BROKER_TLS and CELERY_BROKER_URL.startswith("amqp"):
    CELERY_BROKER_USE_SSL = {
        **CELERY_BROKER_TLS_FILES,
        "cert_reqs": ssl.CERT_REQUIRED,
        "server_hostname": None,  # kombu fills in the host of the address
    }
elif CELERY_BROKER_TLS:
    _broker_tls = {f"ssl_{name}": path for name, path in CELERY_BROKER_TLS_FILES.items()}
    CELERY_BROKER_USE_SSL = {**_broker_tls, "ssl_cert_reqs": ssl.CERT_REQUIRED}
    if CELERY_BROKER_URL.startswith("sentinel"):
        CELERY_BROKER_TRANSPORT_OPTIONS["sentinel_kwargs"] = {**_broker_tls, "ssl": True}
# The type of the queues in RabbitMQ. Quorum queues survive a restart and the loss of a node; a classic queue is on
# only one node.
CELERY_BROKER_QUEUE_TYPE = env.str(
    "CELERY_BROKER_QUEUE_TYPE", "quorum" if CELERY_BROKER_URL.startswith("amqp") else "classic"
)
CELERY_TASK_DEFAULT_QUEUE_TYPE = CELERY_TASK_CREATE_MISSING_QUEUE_TYPE = CELERY_BROKER_QUEUE_TYPE
# Redis: no retries, because the sweeper finds rows whose message failed. RabbitMQ: one retry, because beat would
# otherwise keep a broken connection forever.
CELERY_TASK_PUBLISH_RETRY = CELERY_BROKER_URL.startswith("amqp")
CELERY_TASK_PUBLISH_RETRY_POLICY = {
    "max_retries": 1,
    "interval_start": 0,
    "interval_step": 0,
    "interval_max": 0,
}
CELERY_BROKER_CONNECTION_TIMEOUT = 1
CELERY_TASK_DEFAULT_QUEUE = "default"
# Workers read their queues in the order of -Q. Sweeps come first: rows whose message was lost must not wait behind a
# long queue. Large deliveries come last, so that a post with a million followers does not delay one with ten
# (docs/decisions/0017).
CELERY_TASK_ROUTES = {
    "apps.accounts.tasks.sweep_mail": {"queue": "sweep"},
    "apps.digest.tasks.sweep": {"queue": "sweep"},
    "apps.timeline.tasks.deliver_chunk": {"queue": "fanout"},
    "apps.events.tasks.sweep": {"queue": "sweep"},
    "apps.timeline.tasks.publish_due": {"queue": "sweep"},
    "apps.timeline.tasks.sweep": {"queue": "sweep"},
    "apps.privacy.tasks.sweep": {"queue": "sweep"},
    "apps.push.tasks.sweep": {"queue": "sweep"},
    "apps.posts.tasks.sweep_transcodes": {"queue": "sweep"},
    "apps.posts.tasks.transcode": {"queue": "media"},
    "apps.previews.tasks.fetch": {"queue": "media"},
    "apps.previews.tasks.sweep": {"queue": "sweep"},
    "apps.ranking.tasks.score_delivered": {"queue": "fanout_bulk"},
    "apps.timeline.tasks.split_job": {"queue": "fanout_bulk"},
    "apps.timeline.tasks.split_backfill": {"queue": "fanout_bulk"},
    "apps.timeline.tasks.deliver_backfill": {"queue": "fanout_bulk"},
    "apps.webhooks.tasks.sweep": {"queue": "sweep"},
}
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
PERIODIC_TASKS = {  # seconds between two runs
    "apps.events.tasks.sweep": 1,
    "apps.timeline.tasks.publish_due": 1,
    "apps.timeline.tasks.sweep": 1,
    "apps.operations.tasks.advance": 2,
    "apps.accounts.tasks.maintain_counts": 5,
    "apps.accounts.tasks.sweep_mail": 5,
    "apps.events.tasks.recall": 5,
    "apps.graph.tasks.end_due_mutes": 5,
    "apps.operations.tasks.publish": 5,
    "apps.operations.tasks.watch_database": 5,
    "apps.posts.tasks.end_polls": 5,
    "apps.posts.tasks.maintain_counts": 5,
    "apps.posts.tasks.sweep_transcodes": 5,
    "apps.previews.tasks.sweep": 5,
    "apps.privacy.tasks.sweep": 5,
    "apps.promotions.tasks.apply_time": 5,
    "apps.push.tasks.sweep": 5,
    "apps.timeline.tasks.maintain_policies": 5,
    "apps.webhooks.tasks.sweep": 5,
    "apps.audit.tasks.audit": 10,
    "apps.operations.tasks.watch_bursts": 10,
    "apps.posts.tasks.write_back_reads": 10,
    "apps.search.tasks.index_newcomers": 10,
    "apps.search.tasks.index_older_posts": 10,
    "apps.search.tasks.index_older_people": 10,
    "apps.engagement.tasks.maintain_filters": 15,
    "apps.audit.tasks.reconcile_counts": 30,
    "apps.digest.tasks.sweep": 30,
    "apps.promotions.tasks.sweep_segments": 60,
    "apps.second_level.tasks.purge": 60,
    "apps.spam.tasks.sweep": 60,
    "apps.timeline.tasks.maintain_replicas": 60,
    "apps.timeline.tasks.repair_square": 60,
    "apps.audit.tasks.keep_days": 300,
    "apps.engagement.tasks.recount_polls": 300,
    "apps.events.tasks.purge": 300,
    "apps.posts.tasks.evict_counts": 300,
    "apps.search.tasks.rank_trends": 300,
    "apps.tags.tasks.count_tags": 300,
    "apps.timeline.tasks.measure_policies": 300,
    "apps.timeline.tasks.purge_history": 300,
    "apps.posts.tasks.purge_unused_uploads": 600,
    "apps.privacy.tasks.purge": 1800,
    "apps.accounts.tasks.purge_mail": 3600,
    "apps.accounts.tasks.purge_sessions": 3600,
    "apps.digest.tasks.make": 3600,
    "apps.notifications.tasks.purge": 3600,
    "apps.oauth.tasks.purge": 3600,
    "apps.posts.tasks.purge_keys": 3600,
    "apps.previews.tasks.purge": 3600,
    "apps.promotions.tasks.purge_impressions": 3600,
    "apps.push.tasks.purge": 3600,
    "apps.ranking.tasks.purge": 3600,
    "apps.sign_ups.tasks.purge": 3600,
    "apps.site_activity.tasks.count": 3600,
    "apps.strikes.tasks.purge": 3600,
    "apps.webhooks.tasks.purge": 3600,
}
CELERY_BEAT_SCHEDULER = "feedsite.server.beat:Scheduler"
SWEPT_ROWS = {  # tasks that do nothing while no row of these models is due: beat sends no message then
    "apps.accounts.tasks.sweep_mail": ["accounts.Mail"],
    "apps.digest.tasks.sweep": ["digest.Issue"],
    "apps.events.tasks.sweep": ["events.Event"],
    "apps.previews.tasks.sweep": ["previews.Preview"],
    "apps.privacy.tasks.sweep": ["privacy.Export", "privacy.Import", "privacy.Erasure"],
    "apps.push.tasks.sweep": ["push.Delivery"],
    "apps.timeline.tasks.publish_due": ["posts.ScheduledPost"],
    "apps.timeline.tasks.sweep": [
        "timeline.FanoutJob",
        "timeline.FanoutChunk",
        "timeline.Backfill",
        "timeline.BackfillChunk",
    ],
    "apps.webhooks.tasks.sweep": ["webhooks.Delivery"],
}
CELERY_BEAT_SCHEDULE = {
    task: {
        "task": task,
        "schedule": every(seconds),
        # without `expires`, because a worker whose clock is ahead would discard every message
        "options": {"headers": {EVERY: seconds}},
    }
    for task, seconds in PERIODIC_TASKS.items()
    if task.partition(".tasks.")[0] not in LEFT_OUT_APPS
}

# --- accounts -------------------------------------------------------------------------------------
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["apps.accounts.authentication.backends.HandleOrEmailBackend"]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
        "OPTIONS": {"user_attributes": ("handle", "email", "display_name")},
    },
    {
        "NAME": "apps.accounts.authentication.passwords.LongEnough",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "/login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/"
# Sessions are rows of PostgreSQL, which processes cache: losing a cache logs nobody out.
SESSION_ENGINE = "apps.accounts.authentication.session_store"
SESSION_COOKIE_AGE = 30 * 24 * 3600
PASSWORD_RESET_TIMEOUT = 2 * 3600  # the lifetime of the link in the e-mail
# How e-mails are sent: smtp+tls://user:password@host:587; consolemail:// prints them, dummymail:// discards them.
vars().update(env.email("EMAIL_URL", default="consolemail://"))
EMAIL_TIMEOUT = env.int("EMAIL_TIMEOUT", 10)  # the time limit for each step of SMTP, in seconds
EMAIL_CONCURRENCY = env.int("EMAIL_CONCURRENCY", 2)  # how many workers a slow mail server can block
# Addresses must be confirmed before they can be used to log in or to reset a password (decision 0062).
EMAIL_CONFIRMATION_REQUIRED = env.bool("EMAIL_CONFIRMATION_REQUIRED", PRODUCTION)
# The sender of all e-mails.
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", "no-reply@localhost")
AVATAR_MAX_BYTES = 4 * 1024 * 1024

# --- web push: through the services of browser vendors ---------------------------------------------
# Time limit of a whole request to a push service.
PUSH_TIMEOUT_SECONDS = env.float("PUSH_TIMEOUT_SECONDS", 5.0)
PUSH_CONCURRENCY = env.int("PUSH_CONCURRENCY", 4)  # how many workers slow services can block

# --- webhooks: messages to members' servers -------------------------------------------------------
# Time limit of a whole request.
WEBHOOK_TIMEOUT_SECONDS = env.float("WEBHOOK_TIMEOUT_SECONDS", 10.0)
WEBHOOK_CONCURRENCY = env.int("WEBHOOK_CONCURRENCY", 4)  # how many workers slow servers can block
# Allow messages to any host, even without TLS. For development only; refused with PRODUCTION=1.
WEBHOOKS_ANYWHERE = env.bool("WEBHOOKS_ANYWHERE", DEBUG)

# --- spam -----------------------------------------------------------------------------------------
# The heuristics that examine new posts, as dotted paths of single ones or of lists (docs/spam.md); empty: none.
SPAM_HEURISTICS = env.list("SPAM_HEURISTICS", default=["apps.spam.built_in.ALL"])

# Allows `manage gameday` to put faults into this site, which must be a staging site (docs/gameday.md): 1 with
# PRODUCTION=0, and otherwise the host of SITE_URL.
GAMEDAY = env.str("GAMEDAY", "")

# --- second factor --------------------------------------------------------------------------------
# Staff have their permissions only in sessions that were verified with a second factor.
STAFF_SECOND_FACTOR = env.bool("STAFF_SECOND_FACTOR", PRODUCTION)
OTP_TOTP_ISSUER = SITE_NAME  # shown in authenticator apps
OTP_WEBAUTHN_RP_NAME = SITE_NAME
OTP_WEBAUTHN_RP_ID, _passkey_origin = relying_party(SITE_URL)
OTP_WEBAUTHN_ALLOWED_ORIGINS = [_passkey_origin]

# --- security -------------------------------------------------------------------------------------
SECURE_COOKIES = env.bool("SECURE_COOKIES", not DEBUG)  # cookies are sent only over HTTPS
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_COOKIES
CSRF_COOKIE_HTTPONLY = True
# How long browsers refuse plain HTTP after a visit. Once everything works, set it to a year: 31536000.
SECURE_HSTS_SECONDS = env.int("SECURE_HSTS_SECONDS", 0)
SECURE_SSL_REDIRECT = env.bool("SECURE_SSL_REDIRECT", False)  # plain HTTP is redirected to HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz/"]  # probes use plain HTTP
# Set this to "HTTP_X_FORWARDED_PROTO,https" behind a proxy that terminates TLS and always sets the header. Without such
# a proxy, clients could forge the header.
SECURE_PROXY_SSL_HEADER = env.tuple("SECURE_PROXY_SSL_HEADER", default=None) or None
# Number of proxies whose X-Forwarded-For is trusted.
TRUSTED_PROXY_HOPS = env.int("TRUSTED_PROXY_HOPS", 0)
SIGNED_COOKIE_LEGACY_SALT_FALLBACK = False
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
UPLOAD_MAX_BYTES = (  # for a form with files
    max(4 * PICTURE_MAX_BYTES, VIDEO_MAX_BYTES) + DATA_UPLOAD_MAX_MEMORY_SIZE
)
UPLOAD_MAX_BYTES_AT = {  # except at these addresses
    "/settings/import": max(UPLOAD_MAX_BYTES, ARCHIVE_MAX_BYTES + DATA_UPLOAD_MAX_MEMORY_SIZE),
}
DATA_UPLOAD_MAX_NUMBER_FIELDS = 200
DATA_UPLOAD_MAX_NUMBER_FILES = 8
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "media-src": ["'self'"],
        "font-src": ["'self'"],
        "connect-src": ["'self'", STREAMING_URL],
        "manifest-src": ["'self'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
    }
}
# Clients in browsers send tokens in a header, so any origin may call the API; pages, above all the consent page, are
# excluded.
CORS_URLS_REGEX = r"^/(api|oauth/(token|revoke|userinfo)|\.well-known|nodeinfo)(/|$)"
CORS_ALLOW_ALL_ORIGINS = True
CORS_ALLOW_HEADERS = ("accept", "authorization", "content-type", "idempotency-key", "if-none-match")
CORS_EXPOSE_HEADERS = (
    "ETag", "Idempotency-Replayed", "Link", "Retry-After", "Server-Timing", "X-Feed-Behind",
    "X-Feed-Degraded", "X-Feed-Ends-Early", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset",
    "X-Request-Id",
)  # fmt: skip
CSRF_FAILURE_VIEW = "apps.http.errors.csrf_failure"

# --- texts and time -------------------------------------------------------------------------------
LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("zh-hans", _("Simplified Chinese"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
LANGUAGE_COOKIE_NAME = "lang"
TIME_ZONE = "UTC"

# --- files ----------------------------------------------------------------------------------------
STATIC_URL = "/static/"
# The folder in which collectstatic stores styles and scripts.
STATIC_ROOT = Path(env.str("STATIC_ROOT", str(BASE_DIR / "var" / "static")))
STATICFILES_DIRS = [BASE_DIR / "static"]
MEDIA_URL = "/media/"
# The folder for pictures and videos.
MEDIA_ROOT = Path(env.str("MEDIA_ROOT", str(BASE_DIR / "var" / "media")))
# The folder for archives, and for uploaded videos until they are transcoded.
PRIVATE_ROOT = Path(env.str("PRIVATE_ROOT", str(MEDIA_ROOT.parent / "private")))
MEDIA_BUCKET = env.str("MEDIA_BUCKET", "")  # an S3 bucket for these files; empty: the folders above
# Only for an S3 service other than Amazon's.
MEDIA_BUCKET_ENDPOINT = env.str("MEDIA_BUCKET_ENDPOINT", "")
# An internal location of nginx, which then sends the files (X-Accel-Redirect). Empty: the site sends them.
MEDIA_ACCEL_URL = env.str("MEDIA_ACCEL_URL", "")
STORAGES = {
    **storages_of(private=PRIVATE_ROOT, bucket=MEDIA_BUCKET, endpoint=MEDIA_BUCKET_ENDPOINT),
    "staticfiles": {
        # The class that stores and names styles and scripts. Only tests and `./run` use a different one.
        "BACKEND": env.str("STATICFILES_BACKEND", "feedsite.files.staticfiles.MinifiedStorage")
    },
}

# --- API ------------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["apps.api.authentication.BearerAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_THROTTLE_CLASSES": ["apps.api.throttling.ApiThrottle"],
    "DEFAULT_RENDERER_CLASSES": ["apps.api.renderers.FastJSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "apps.api.renderers.AnythingIsJSON",
    "DEFAULT_PARSER_CLASSES": [
        "apps.api.parsers.StrictJSONParser",
        "apps.api.parsers.NestedFormParser",
        "apps.api.parsers.NestedMultiPartParser",
    ],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "apps.api.errors.api_exception",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": f"{SITE_NAME} API",
    "DESCRIPTION": "The parts of the Mastodon client API that this site supports. Ids are decimal strings. "
    "Bodies may be JSON or forms.",
    "VERSION": __version__,
    "CONTACT": {"name": SITE_NAME, "url": f"{SITE_URL}/about"},
    "LICENSE": {"name": "MIT", "identifier": "MIT"},
    "SERVERS": [{"url": SITE_URL}],
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SERVE_AUTHENTICATION": [],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "apps.api.openapi.complete_document",
        "apps.streaming.document.add_streams",
    ],
    "SCHEMA_PATH_PREFIX": r"/api/v[0-9]",
    "ENUM_NAME_OVERRIDES": {
        "FindingEnum": [
            "missing",
            "extra",
            "repeated",
            "order",
            "window",
            "undelivered",
            "stuck",
            "dead",
            "chunk",
            "receipt",
            "lost",
            "mirror",
            "count",
            "cached",
        ],
        "QuotePolicyEnum": ["public", "followers", "nobody"],
        "PolicyEnum": ["push", "online", "pull", "auto", "site"],
        "PushPolicyEnum": ["all", "followed", "follower", "none"],
        "CardTypeEnum": ["link"],
        "MediaTypeEnum": ["image", "gifv", "video", "audio"],
        "NotificationTypeEnum": "apps.api.entities.notification.TYPE_NAMES",
        "TreatmentEnum": ["accept", "filter", "drop"],
        "VisibilityEnum": ["public", "unlisted", "private", "direct"],
        "WritableVisibilityEnum": ["public", "unlisted", "private", "friends", "direct", "circle"],
    },
}

# --- OAuth ----------------------------------------------------------------------------------------
OAUTH2_PROVIDER_APPLICATION_MODEL = "oauth.Application"
# Migrations refer to this model.
OAUTH2_PROVIDER_ACCESS_TOKEN_MODEL = "oauth2_provider.AccessToken"  # noqa: S105 -- the name of a model
OAUTH2_PROVIDER = {
    "OIDC_ISS_ENDPOINT": SITE_URL,  # the issuer, as in the discovery document
    "OAUTH2_BACKEND_CLASS": "apps.oauth.provider.Core",
    "OAUTH2_VALIDATOR_CLASS": "apps.oauth.provider.Validator",
    "SCOPES_BACKEND_CLASS": "apps.oauth.provider.Scopes",
    "ACCESS_TOKEN_GENERATOR": "apps.oauth.provider.new_token",
    # Lifetime of a token. Mastodon clients never refresh tokens; users revoke them on the applications page.
    "ACCESS_TOKEN_EXPIRE_SECONDS": env.int("OAUTH_TOKEN_SECONDS", 10 * 365 * 24 * 3600),
    "AUTHORIZATION_CODE_EXPIRE_SECONDS": 600,  # users may have to copy the code
    "REFRESH_TOKEN_REUSE_PROTECTION": True,
    "PKCE_REQUIRED": False,  # older clients lack it; others must use S256
    "COMPLIANT_BCP_RFC9700_IMPLICIT_GRANT": True,
    "COMPLIANT_BCP_RFC9700_PASSWORD_GRANT": True,  # except as apps.oauth.provider.Validator allows
    "COMPLIANT_BCP_RFC9700_PKCE_METHOD": True,
    "COMPLIANT_BCP_RFC9700_ACCESS_TOKEN_TRANSPORT": True,
    "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True,
    "COMPLIANT_BCP_RFC9700_TOKEN_STORAGE": True,  # only hashes are stored
}

# --- figures of the running site ------------------------------------------------------------------
# The three objectives with error budgets (`apps.operations.objectives`).

# The objective for the share of requests that are answered.
SLO_AVAILABILITY = env.float("SLO_AVAILABILITY", 0.9999)
# The objective for home pages: 95 of 100 take at most this long.
SLO_HOME_SECONDS = env.float("SLO_HOME_SECONDS", 0.25)
# The objective for deliveries: 95 of 100 take at most this long.
SLO_DELIVERY_SECONDS = env.float("SLO_DELIVERY_SECONDS", 5.0)
# Targets shown to staff next to the figures (sources 000 and 002): shares, and average milliseconds.
SERVICE_TARGETS = {
    "availability": SLO_AVAILABILITY,
    "hit_rate": 0.99,
    "request_ms": 100,
    "call_ms": 5,
}
# Programs that send this token may read /metrics, like staff. At least 32 characters.
METRICS_TOKEN = env.str("METRICS_TOKEN", "")
# The addresses from which /metrics may be read without a token, for example 10.0.0.7,10.0.0.0/24.
METRICS_ADDRESSES = env.list("METRICS_ADDRESSES", default=[])

# --- traces ---------------------------------------------------------------------------------------
# The OpenTelemetry collector for traces, such as http://collector:4318; needs requirements-otel.txt. Empty: no traces.
OTEL_EXPORTER_OTLP_ENDPOINT = env.str("OTEL_EXPORTER_OTLP_ENDPOINT", "")

# --- logs -----------------------------------------------------------------------------------------
LOG_LEVEL = env.str("LOG_LEVEL", "INFO")  # DEBUG, INFO, WARNING or ERROR
LOG_FORMAT = env.str("LOG_FORMAT", "line")  # "line", or "json" for one JSON object per line
# The log file, which logrotate may rename; empty: standard error.
LOG_FILE = env.str("LOG_FILE", "")
ACCESS_LOG = env.bool("ACCESS_LOG", False)  # log one line per request, without address and query
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {
        "request_id": {"()": "feedsite.monitoring.logs.RequestIdFilter"},
        "as_info": {"()": "feedsite.monitoring.logs.AsInfo"},
        "not_refused_early": {"()": "feedsite.monitoring.logs.NotRefusedEarly"},
    },
    "formatters": {
        "line": {"format": "%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s"},
        "json": {"()": "feedsite.monitoring.logs.JSONFormatter"},
    },
    "handlers": {
        "log": {
            **(
                {
                    "class": "logging.handlers.WatchedFileHandler",
                    "filename": LOG_FILE,
                    "delay": True,
                }
                if LOG_FILE
                else {"class": "logging.StreamHandler"}
            ),
            "formatter": "json" if LOG_FORMAT == "json" else "line",
            "filters": ["request_id"],
        },
    },
    "root": {"handlers": ["log"], "level": LOG_LEVEL},
    "loggers": {
        "django.server": {"level": "WARNING"},
        "django.request": {"filters": ["not_refused_early"]},
        "celery.app.trace": {"level": "WARNING"},  # the sweepers log four lines a second
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.worker.request": {"level": "WARNING"},
        "celery.beat": {"level": "WARNING"},
        # anybody can cause these messages
        **{
            f"django.security.{name}": {"filters": ["as_info"]}
            for name in (
                "DisallowedHost",
                "RequestDataTooBig",
                "TooManyFieldsSent",
                "TooManyFilesSent",
            )
        },
    },
}
