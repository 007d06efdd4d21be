"""Where mechanics meets the compiler: the public functions, and `compile`."""
