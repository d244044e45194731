"""Measurements, each a ratio taken in one run on one server; see `docs/performance.md`."""
