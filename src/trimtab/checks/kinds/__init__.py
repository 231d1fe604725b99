"""Every kind of configuration that `check` reads, one file each."""
