"""Pictures and videos: reading, drawing, writing, and the threads between them."""
