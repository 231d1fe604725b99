"""What several tasks on images share: image files and lists of them, drawn lines, the stream, and given images."""
