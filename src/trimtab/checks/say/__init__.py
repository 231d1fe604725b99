"""Output of findings: text, JSON, SARIF, GitHub annotations; pages and the index of symptoms."""
