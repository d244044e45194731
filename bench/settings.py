"""The product as it is, except that one machine may be thousands of viewers."""

from tests.browser.settings import *  # noqa: F403
from tests.browser.settings import RATE_LIMITS

RATE_LIMITS = RATE_LIMITS | {
    "live_stream": "100000 at once by ip",
    "live_open": "100000/second by ip, token bucket, burst 100000",
}
