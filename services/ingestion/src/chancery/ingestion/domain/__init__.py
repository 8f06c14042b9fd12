"""What is read, decided and told for each command: pure."""
