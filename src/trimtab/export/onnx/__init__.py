"""`--to onnx`: translators for ONNX Runtime."""
