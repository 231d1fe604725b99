"""The command line: a thin shell around calls that Python has too."""
