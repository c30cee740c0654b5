"""What FFmpeg may open besides the source itself: a playlist or a redirect can name anything."""

PIPE_OPTIONS = {"protocol_whitelist": "data"}
"""Options of `av.open` for an open stream: it leads nowhere else. `data` holds its content in the address itself."""

_NETWORK = "http,https,httpproxy,tcp,tls,udp,rtp,srtp,rtmp,rtmps,rtmpt,srt,mmsh,crypto,data"


def network_options(scheme: str) -> dict[str, str]:
    """Options of `av.open` for an address of this scheme: no files of this computer."""
    options = {"protocol_whitelist": _NETWORK}
    if scheme in ("http", "https"):
        options |= {"reconnect": "1", "reconnect_delay_max": "2"}  # seconds; only where the rest can be asked for
    elif scheme in ("rtsp", "rtsps"):
        options["rtsp_transport"] = "tcp"  # packets that are lost on UDP grey the picture for seconds
    elif scheme == "udp":
        options["overrun_nonfatal"] = "1"  # a consumer that is slow loses packets, not the stream
    return options
