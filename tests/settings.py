"""The product's settings, on servers that the test process starts itself."""

import os

from tests.servers import OWN_CACHE, OWN_POSTGRES, OWN_SERVER

os.environ |= {"REDIS_URL": OWN_SERVER.url, "DEBUG": ""}
os.environ["CACHE_URL"] = OWN_CACHE.url if OWN_CACHE else ""
os.environ["DATABASE_URL"] = OWN_POSTGRES.url if OWN_POSTGRES else ""
os.environ["SECRET_KEY"] = "only-for-tests-" + "x" * 40

from config.settings import *  # noqa: F403
from config.settings import STORAGES, VAR_DIR
from tests.patience import be_patient

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# Served from their folders, without a build step.
STORAGES = STORAGES | {
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = True
STATIC_ROOT = VAR_DIR / "no-static-in-tests"
# Tests call `visits.flush()`, so that nothing of one test arrives in the next.
VISITS_IN_BACKGROUND = False
# Tests sync by themselves: no thread of ours touches their database.
RATE_LIMIT_SYNC_SECONDS = 0.0
WORK_IN_BACKGROUND = False
be_patient()
