"""What becomes of model files here, beside what their own runtimes compute for them."""
