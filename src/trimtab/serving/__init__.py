"""A trained model behind HTTP: requests of many clients share batches, hostile ones are refused."""
