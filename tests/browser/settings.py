"""The product's settings for a server of its own, without a build step for static files."""

import os
from pathlib import Path

from config.settings import *  # noqa: F403
from config.settings import STORAGES
from tests.patience import be_patient

# What a command leaves behind must not land in the project's own folder.
VAR_DIR = Path(os.environ["ROSTRUM_TEST_FOLDER"])

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES = STORAGES | {
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
}
WHITENOISE_USE_FINDERS = True
STATIC_ROOT = VAR_DIR / "no-static-in-tests"
be_patient()
