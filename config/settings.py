"""Settings, read from the environment and from `.env`; see `.env.example`.

DEBUG has three states. Unset: a local trial, with the product's own error pages, plain HTTP and a
key kept under `var/`. `true`: Django's debug pages. `false`: production, where SECRET_KEY and
ALLOWED_HOSTS are required and every cookie wants HTTPS.
"""

from __future__ import annotations

from pathlib import Path

from csp.constants import NONE, SELF

from config import environment
from config.errors import ConfigurationError
from config.redis import embedded
from config.redis.connections import cache_settings

BASE_DIR = Path(__file__).resolve().parent.parent

environment.read_file(BASE_DIR / ".env")

# Holds password hashes, sessions, logs and mail: files that only their owner may read.
environment.keep_files_private()
VAR_DIR = environment.private_folder(
    Path(environment.text("VAR_DIR") or BASE_DIR / "var").resolve()
)

DEBUG = environment.boolean("DEBUG", default=False)
PRODUCTION = bool(environment.text("DEBUG")) and not DEBUG

SECRET_KEY = environment.text("SECRET_KEY")
if not SECRET_KEY:
    if PRODUCTION:
        raise ConfigurationError(
            "SECRET_KEY is required when DEBUG is off: expected 50 or more random characters."
        )
    SECRET_KEY = environment.local_secret(VAR_DIR / "secret_key")

ALLOWED_HOSTS = environment.words(
    "ALLOWED_HOSTS", [] if PRODUCTION else ["localhost", ".localhost", "127.0.0.1", "[::1]"]
)
if not ALLOWED_HOSTS:
    raise ConfigurationError(
        "ALLOWED_HOSTS is required when DEBUG is off: expected names such as scores.example.com."
    )
# Links in mail lead here. Never to the host of a request: an attacker who requests a new password
# for another account chooses that.
SITE_URL = environment.site_url("SITE_URL", "" if PRODUCTION else "http://127.0.0.1:8000")
if not SITE_URL:
    if ALLOWED_HOSTS[0].startswith(("*", ".")):
        raise ConfigurationError(
            "SITE_URL is required when ALLOWED_HOSTS begins with a pattern: expected an address "
            "such as https://scores.example.com."
        )
    SITE_URL = f"https://{ALLOWED_HOSTS[0]}"
CSRF_FAILURE_VIEW = "config.web.errors.csrf_failure"
CSRF_TRUSTED_ORIGINS = environment.words("CSRF_TRUSTED_ORIGINS", [])

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django.forms",
    "django_htmx",
    "csp",
    "ninja",
    "config.apps.ConfigApp",
    "ratelimit",
    "sessions_app",
    "leaderboard",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "config.web.middleware.LanguageMiddleware",
    "leaderboard.api.middleware.ApiMiddleware",
    "config.web.middleware.ErrorPageMiddleware",
    "config.web.middleware.RedisOutageMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "sessions_app.middleware.audience_middleware",
    "ratelimit.middleware.RateLimitMiddleware",
    # Below the limits: what these redirect or refuse counts.
    "config.web.middleware.missing_file_middleware",
    "django.middleware.common.CommonMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "config.urls"

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
                "config.web.look.look",
                "leaderboard.pages.context.unread_notices",
            ],
        },
    },
]

FORM_RENDERER = "config.web.look.FormRenderer"

DATABASES = {"default": environment.database("DATABASE_URL", VAR_DIR / "rostrum.sqlite3")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = environment.text("REDIS_URL") or embedded.register(VAR_DIR / "redis")
CACHES = cache_settings(REDIS_URL, environment.text("CACHE_URL"))

SESSION_ENGINE = "sessions_app.backend"
# Page views are counted by a thread, about once a second, not by the request.
VISITS_IN_BACKGROUND = True
# So is mail sent, because the time it takes would reveal which addresses are known.
WORK_IN_BACKGROUND = True

# The number of our own proxies in front; the client's address is the entry of X-Forwarded-For at
# this position from the right. 0: the address of the connection.
TRUSTED_PROXIES = environment.whole_number("TRUSTED_PROXIES", 0)

# Opens /metrics to requests with this bearer token. Requests from this machine need none.
METRICS_TOKEN = environment.text("METRICS_TOKEN")

# Limits in plain words, see docs/rate-limits.md; the admin can change each at run time. Generous
# enough that several people behind one address do not reach them in normal use.
RATE_LIMITS = {
    # Guessing one account's password from one place.
    "login": "10/minute and 100/hour by ip+username, sliding log, closed on failure",
    # Guessing one account's password from many places, and many accounts' from one.
    "login_account": "100/hour by username, sliding log, closed on failure",
    "login_address": "30/minute and 300/hour by ip, sliding log, closed on failure",
    # Guessing the password of a stolen session, from many places.
    "password_check": "10/minute and 30/hour by user, sliding log, closed on failure",
    # One browser signs up a few people at most; a school joins from one address.
    "signup": "20/hour by ip+sessions_app.visitors.device, sliding log, closed on failure",
    "signup_address": "200/hour and 1000/day by ip, sliding log, closed on failure",
    # Each one sends a mail.
    "password_reset": "10/hour by ip+email, sliding log, closed on failure",
    "password_reset_account": "20/hour by email, sliding log, closed on failure",
    "password_reset_address": "30/hour by ip, sliding log, closed on failure",
    "score_submit": "20/second by user, token bucket, burst 100",
    "api_key": "500/second by api_key, token bucket, burst 1000",
    "api_anonymous": "20/second by ip, token bucket, burst 100",
    "search": "5/second by user, gcra, burst 30",
    # Open pages. A whole school may share an address; a connection from this machine is a proxy's.
    "live_stream": (
        "1000 at once for 10 minutes by ip, exempt network 127.0.0.0/8, exempt network ::1/128"
    ),
    # Streams of the API for chosen players: each reads for itself.
    "live_players": "5 at once for 10 minutes by api_key",
    # Whole tables as a file. Each keeps a thread busy until it is sent.
    "export": "20/minute and 2 at once for 10 minutes by user",
    # Several seasons or boards as one: each choice is computed.
    "together": "1/second by user, token bucket, burst 20",
    "console": "10/second by user, token bucket, burst 60",
    # Opening streams: all pages of a school reconnect at once after a restart.
    "live_open": "50/second by ip, token bucket, burst 1000",
    # Monitoring; requests from this machine are never refused.
    "monitoring": (
        "10/second by ip, token bucket, burst 60, "
        "exempt network 127.0.0.1/32, exempt network ::1/128"
    ),
    # A page loads about ten files, once.
    "static": "200/second by ip, token bucket, burst 2000",
    # Every other address, whether it exists or not.
    "page": "50/second by ip, token bucket, burst 300",
}
# The policy of an address, by the longest prefix, charged before it is looked up; None for no
# policy. Views may have a further one of their own.
RATE_LIMIT_PREFIXES = {
    "/": "page",
    "/static/": "static",
    "/live/": "live_open",
    "/api/": "api_anonymous",
    "/api/v1/boards": None,  # by key or address, see leaderboard/api/limits.py
    "/healthz": None,  # to answer costs less than to refuse
    "/readyz": "monitoring",
    "/metrics": "monitoring",
}
# Seconds between two reads of what staff changed, in every process.
RATE_LIMIT_SYNC_SECONDS = 2.0

# Pages of other origins that may call the API from a browser, such as https://game.example.com;
# * is every page.
API_ORIGINS = environment.words("API_ORIGINS", [])

LANGUAGE_CODE = "en"
# Each by its own name: a reader may not understand the language that is shown.
LANGUAGES = [("de", "Deutsch"), ("en", "English"), ("es", "Español"), ("fr", "Français")]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = environment.time_zone("TIME_ZONE", "UTC")
USE_THOUSAND_SEPARATOR = True

STATIC_URL = "static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
WHITENOISE_KEEP_ONLY_HASHED_FILES = True
# Files that are compressed already, and source maps, which only debuggers load.
WHITENOISE_SKIP_COMPRESS_EXTENSIONS = ("png", "woff", "woff2", "map")

AUTHENTICATION_BACKENDS = ["leaderboard.access.accounts.AccountBackend"]
PASSWORD_HASHERS = [
    "sessions_app.hashers.BoundedArgon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}", "OPTIONS": options}
    for name, options in (
        ("UserAttributeSimilarityValidator", {}),
        ("MinimumLengthValidator", {"min_length": 12}),
        ("CommonPasswordValidator", {}),
        ("NumericPasswordValidator", {}),
    )
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "home"

# Password resets. Without a server each mail is a file; never in a log, which more people read.
globals().update(environment.email("EMAIL_URL", VAR_DIR / "mail"))
DEFAULT_FROM_EMAIL = environment.text("DEFAULT_FROM_EMAIL", "Rostrum <rostrum@localhost>")

# Forms are small; the largest body is a bulk submission of 10,000 rows to the API.
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024
LARGEST_BODY = 16 * 1024 * 1024

# The browser gets everything from us and runs nothing inline.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "img-src": [SELF, "data:", "https:"],
        "object-src": [NONE],
        "base-uri": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}
if PRODUCTION:
    SECURE_SSL_REDIRECT = environment.boolean("SECURE_SSL_REDIRECT", default=True)
    SECURE_HSTS_SECONDS = environment.whole_number("SECURE_HSTS_SECONDS", 365 * 24 * 3600)
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    SECURE_HSTS_PRELOAD = True
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    # Monitoring requests these over plain HTTP from inside.
    SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
    if TRUSTED_PROXIES:
        SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "config.logs.LineFormatter"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": environment.text("LOG_LEVEL", "INFO")},
    # Django logs every 4xx again that the access log already has.
    "loggers": {"django.request": {"level": "ERROR"}},
}
