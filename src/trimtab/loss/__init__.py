"""What is minimised: summed over targets, never averaged."""
