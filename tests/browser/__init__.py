"""What `test_browser` needs: a page that plays clips, a server for it, and a browser without a window."""
