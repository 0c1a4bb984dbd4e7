"""Images with annotation files of several formats: label files of YOLO, XML of Pascal VOC, masks."""
