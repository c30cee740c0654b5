"""Pictures and videos.

`pictures` reads and `picture_files` saves; `decoding` is what reading needs, `sources` finds inputs, `drawing` marks
objects, `crops` and `privacy` cut them out and hide them, `video` holds all of videos, `pipeline` the threads between.
"""
