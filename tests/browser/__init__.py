"""What tests in a real browser need: pages that look or play, a server for them, a browser without a window."""
