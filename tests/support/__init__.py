"""Strategies, references and cases that several tests share."""
