"""The product's settings, with limits that the load of one address does not reach."""

import faulthandler
import signal

from config.settings import *  # noqa: F403
from config.settings import RATE_LIMITS

# A process that hangs tells where, in its log.
faulthandler.register(signal.SIGUSR1, all_threads=True)

RATE_LIMITS = RATE_LIMITS | {
    "live_stream": "20000 at once by ip",
    "live_open": "100000/second by ip, token bucket, burst 100000",
    "api_key": "100000/second by api_key, token bucket, burst 100000",
    "api_anonymous": "100000/second by ip, token bucket, burst 100000",
    "page": "100000/second by ip, token bucket, burst 100000",
}
