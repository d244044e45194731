"""Sample data: a few boards that look like real ones, for a first look and for measurements."""
