"""Tests of blocks and sheet."""
