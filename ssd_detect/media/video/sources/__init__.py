"""Where videos come from: files, numbered pictures, animations, servers, cameras, standard input."""
