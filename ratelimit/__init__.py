"""Rate limits on Redis: policies in plain words, one round trip, six algorithms."""
