"""Settings, all from the environment. Without DATABASE_URL, REDIS_URL and SECRET_KEY nothing starts:
`manage.py` provides them from the embedded servers; web and workers started any other way must bring their own."""

from __future__ import annotations

from ipaddress import ip_network
from pathlib import Path

import environ
from celery.schedules import crontab
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()


def required(name: str) -> str:
    """The value of an environment variable the product cannot run without."""
    value = env.str(name, default="")
    if not value:
        raise ImproperlyConfigured(
            f"{name} is not set. Start with `python3 manage.py up`, which brings its own database and broker, "
            "or set DATABASE_URL, REDIS_URL and SECRET_KEY."
        )
    return value


SECRET_KEY = required("SECRET_KEY")
DEBUG = env.bool("DEBUG", default=False)
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

DATABASES = {"default": env.db_url_config(required("DATABASE_URL"), engine="django.db.backends.postgresql")}
DATABASES["default"]["CONN_MAX_AGE"] = env.int("CONN_MAX_AGE", default=60)
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
DATABASES["default"].setdefault("OPTIONS", {}).setdefault("options", "-c jit=off")
"""Compiling the wide sums of an import or a line takes longer than running them as they are."""
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
REDIS_URL = required("REDIS_URL")
"""As Celery reads it; a socket is written `redis+socket:///path?virtual_host=0`."""
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL.replace("redis+socket://", "unix://").replace("virtual_host=", "db="),
    }
}

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django.contrib.postgres",
    "csp",
    "django_htmx",
    "django_filters",
    "pgtrigger",
    "rest_framework",
    "drf_spectacular",
    "teams",
    "estimates",
    "usage",
    "budgets",
    "overruns",
    "retrospectives",
    "web",
    "api",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "web.middleware.PersonMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "web.context.frame",
            ],
            "builtins": ["django.templatetags.l10n"],
        },
    }
]

AUTH_USER_MODEL = "teams.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("zh-hans", _("Simplified Chinese"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"
USE_THOUSAND_SEPARATOR = True
FORMAT_MODULE_PATH = "config.formats"

STATIC_URL = "static/"
STATIC_ROOT = env.path("STATIC_ROOT", default=str(BASE_DIR / "staticfiles"))
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedStaticFilesStorage"},
}
"""`collectstatic` leaves a compressed file beside each; without it the files are served as they lie here."""
MEDIA_ROOT = env.path("HEADROOM_FILES", default=str(BASE_DIR / "var" / "files"))
"""Where delivered usage files are kept, by content hash."""
WATCH_ROOT = env.str("HEADROOM_WATCH_ROOT", default="")
"""The one folder below which sources may watch folders. Empty: no source watches a folder."""
BUCKET_ROOT = env.str("HEADROOM_BUCKET_ROOT", default="")
"""`s3://BUCKET/PREFIX`: below it sources may fetch objects. Empty: none does."""
BUCKET_ENDPOINT = env.str("HEADROOM_BUCKET_ENDPOINT", default="")
"""Of an S3-compatible store; empty: Amazon's of the region."""
BUCKET_REGION = env.str("HEADROOM_BUCKET_REGION", default="us-east-1")
BUCKET_ADDRESSING = env.str("HEADROOM_BUCKET_ADDRESSING", default="path")
"""`path` (endpoint/bucket/key) or `virtual` (bucket.endpoint/key)."""
if BUCKET_ADDRESSING not in ("path", "virtual"):
    raise ImproperlyConfigured("HEADROOM_BUCKET_ADDRESSING is one of path, virtual.")
BUCKET_KEY_ID = env.str("AWS_ACCESS_KEY_ID", default="")
BUCKET_SECRET = env.str("AWS_SECRET_ACCESS_KEY", default="")
BUCKET_SESSION_TOKEN = env.str("AWS_SESSION_TOKEN", default="")
FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.TemporaryFileUploadHandler"]
DATA_UPLOAD_MAX_NUMBER_FIELDS = 2000

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = env.bool("HTTPS", default=False)
CSRF_COOKIE_SECURE = env.bool("HTTPS", default=False)
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

EMAIL_CONFIG = env.email_url("EMAIL_URL", default="consolemail://")
vars().update(EMAIL_CONFIG)
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", default="Headroom <headroom@localhost>")
SITE_URL = env.str("SITE_URL", default="http://127.0.0.1:8000")
"""Where links in e-mails lead."""

CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_RESULT_BACKEND = None
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 3600, "unacked_restore_throttle": 1}
CELERY_TIMEZONE = "UTC"
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_TASK_ROUTES = {
    "estimates.tasks.*": {"queue": "estimates"},
    "overruns.tasks.import_then_judge": {"queue": "imports"},
    "overruns.tasks.look_where_due": {"queue": "imports"},
}
CELERY_BEAT_SCHEDULE = {
    "take up imports that wait or lost their worker": {"task": "overruns.tasks.take_up_imports", "schedule": 5.0},
    "look where sources deliver by themselves": {
        "task": "overruns.tasks.look_where_due",
        "schedule": 10.0,
        "options": {"expires": 60},
    },
    "notice sources and lines without data": {"task": "overruns.tasks.watch_silence", "schedule": 300.0},
    "judge lines that were touched": {"task": "overruns.tasks.judge_touched", "schedule": 5.0},
    "draft the months of recurring costs": {"task": "overruns.tasks.draft_recurring_costs", "schedule": 600.0},
    "derive what nobody held of clusters": {"task": "overruns.tasks.derive_idle_hours", "schedule": 600.0},
    "judge every open line": {"task": "overruns.tasks.judge_open_lines", "schedule": 3600.0},
    "charge the months of assets": {"task": "budgets.tasks.charge_assets", "schedule": 3600.0},
    "judge every guard": {"task": "overruns.tasks.judge_all_guards", "schedule": 600.0},
    "audit every figure": {"task": "overruns.tasks.audit_everything", "schedule": crontab(hour="2", minute="30")},
    "watch for growth": {"task": "overruns.tasks.watch_for_growth", "schedule": 3600.0},
    "watch for interruptions": {"task": "overruns.tasks.watch_for_interruptions", "schedule": 3600.0},
    "raise decisions that are late": {"task": "budgets.tasks.escalate_late_steps", "schedule": 60.0},
    "open retrospectives for overruns": {"task": "retrospectives.tasks.open_for_overruns", "schedule": 10.0},
    "recompute stale drafts": {"task": "estimates.tasks.recompute_stale", "schedule": 5.0},
    "deliver the outbox": {"task": "teams.tasks.deliver_outbox", "schedule": 5.0, "options": {"expires": 30}},
    "forget old answers of the API": {"task": "teams.tasks.forget_answers", "schedule": 3600.0},
    "deliver to webhooks": {"task": "teams.tasks.deliver_webhooks", "schedule": 5.0, "options": {"expires": 30}},
}
"""The clock takes up what is left as rows, so that a lost broker message loses nothing."""

WEBHOOK_NETWORKS = env.list("HEADROOM_WEBHOOK_NETWORKS", default=[])
"""Private networks that webhooks may reach, such as 10.20.0.0/16. Empty: none."""
try:
    [ip_network(network) for network in WEBHOOK_NETWORKS]
except ValueError as error:
    raise ImproperlyConfigured(f"HEADROOM_WEBHOOK_NETWORKS: {error}") from error

CAN_START_WITHOUT_LINE = env.str("CAN_START_WITHOUT_LINE", default="warn")
"""What a job hears whose project has no budget line for it: `warn` lets it run (fail open), `no` does not."""
if CAN_START_WITHOUT_LINE not in ("yes", "warn", "no"):
    raise ImproperlyConfigured("CAN_START_WITHOUT_LINE is one of yes, warn, no.")

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "api.authentication.BearerAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": [
        "rest_framework.parsers.JSONParser",
        "rest_framework.parsers.FormParser",
        "rest_framework.parsers.MultiPartParser",
    ],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "api.errors.answer_error",
    "DEFAULT_THROTTLE_RATES": {"token": env.str("TOKEN_THROTTLE", default="10/min")},
    "COERCE_DECIMAL_TO_STRING": True,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Headroom",
    "DESCRIPTION": "Plan, approve, meter and learn from the money that AI training costs.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "OAS_VERSION": "3.1.0",
    "ENUM_NAME_OVERRIDES": {
        "CostCategory": "usage.models.records.CATEGORY_CHOICES",
        "LineCategory": "budgets.models.fields.LINE_CHOICES",
        "TaskTypeOrAny": "api.can_start.TASK_OR_ANY",
        "EstimateState": "estimates.models.Estimate.State",
        "ProjectState": "teams.models.Project.State",
        "RunState": "usage.runs.models.Run.State",
        "FeedKind": "usage.models.Feed.Kind",
        "PriceKind": "estimates.models.PriceKind",
    },
    "POSTPROCESSING_HOOKS": ["drf_spectacular.hooks.postprocess_schema_enums", "api.plan_schema.add_plan"],
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"handlers": ["console"], "level": env.str("LOG_LEVEL", default="INFO")},
}
