"""Why something was detected, or was not: the way from anchors to detections, told for one picture."""
