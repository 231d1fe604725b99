"""How findings are told: text, JSON, SARIF, GitHub annotations; pages and the index of symptoms."""
