"""Recipes that ship with proofreel, one YAML file a target."""
