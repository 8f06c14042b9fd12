"""The house rules that no linter knows: pure checks from text to findings, and their tests."""
