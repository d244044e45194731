"""For servers that speak WSGI only: pages and API work, live streams and the fast lane do not."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_wsgi_application()
