"""Where pictures come from: arguments, folders, servers."""
